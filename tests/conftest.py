"""Marks the directory of shared test values (`builders`), which pytest puts on the import path."""
