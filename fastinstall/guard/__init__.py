"""Protect the installed stack from replacement: the start-up guard, and pins of environments."""
