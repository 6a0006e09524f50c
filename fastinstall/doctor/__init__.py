"""Turn facts into findings: the checks, their shared functions, and remedies."""
