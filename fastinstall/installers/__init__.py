"""Drivers of other programs and of the package index: pip, apt and dnf, indexes, wheelhouses."""
