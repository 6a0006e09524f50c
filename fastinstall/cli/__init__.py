"""The command line: the only place that talks to a person, reads the environment, or knows colours."""
