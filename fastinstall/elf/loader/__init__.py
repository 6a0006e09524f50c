"""Simulate glibc's dynamic loader: the files that a process would map, and the definitions that symbols bind to."""
