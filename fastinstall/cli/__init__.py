"""The command line: the only package that talks to the user, reads environment variables, or uses colours."""
