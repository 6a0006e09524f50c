"""Decisions and verdicts: values in, values out; no clock, no environment, no disk."""
