"""Format results as text, with the same values as --json."""
