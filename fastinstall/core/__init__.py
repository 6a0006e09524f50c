"""The base of all other packages: errors, values, files, processes, archives, locks. No module concerns Pillow."""
