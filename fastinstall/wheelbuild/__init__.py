"""Build a wheel from source, in stages that read files and write files."""
