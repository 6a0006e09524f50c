"""Decide what a setup does, from observed facts. Pure: no clock, environment or disk."""
