"""Measure how fast images load in the target, what limits the speed, and which changes would raise it."""
