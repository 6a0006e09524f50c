"""The wizard: what is asked of a person at a terminal, and how it ends."""
