"""The Python interface for other programs: the functions behind the verbs of the command line, with examples."""
