"""Compares the ELF readers and the loader model with other ELF readers and with the real loader."""
