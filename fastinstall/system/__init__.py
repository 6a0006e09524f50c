"""The only door to the operating system: processes, files, locks, resources."""
