"""A plan carried out: prepare, prove, swap, verify, commit or undo; and what an interrupted run has left."""
