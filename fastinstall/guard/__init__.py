"""The start-up guard: how it is staged, and how it is doing. What it does stands in `hooks/`."""
