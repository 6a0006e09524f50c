"""The functions for other programs to call: one for each verb of the command line, with an example."""
