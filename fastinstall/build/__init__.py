"""From source to a wheel of our own: stages as functions from files to files."""
