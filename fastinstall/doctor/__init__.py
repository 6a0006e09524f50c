"""Facts to findings: the checks, what they share, and what they advise."""
