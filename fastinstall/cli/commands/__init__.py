"""The verbs of the command line: one module each, whose `run(arguments, context)` returns the exit code.

A module is imported only if its verb is called.
"""
