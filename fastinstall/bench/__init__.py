"""Measure how fast images load in the target, what limits it, and what would help."""
