"""Reads ELF files: what they are, what they need, what they were made from. Never loads or runs one."""
