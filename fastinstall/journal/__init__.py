"""What we do to an environment's files: written down before it is done, and undone from what is written."""
