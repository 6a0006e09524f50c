"""Results as text. The same values that --json prints."""
