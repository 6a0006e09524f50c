"""Changes of an environment, written down before they are made, and undone from what is written."""
