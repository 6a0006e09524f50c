"""ELF files read from the outside: what they are, need and load, and which CPU they ask for. Stands alone."""
