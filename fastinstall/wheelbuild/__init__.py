"""From source to a wheel of ours: stages as functions from files to files."""
