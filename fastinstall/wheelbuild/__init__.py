"""Build a wheel from source, in stages that are functions from files to files."""
