"""The base of all other packages: errors, values, files, processes, archives, locks. Nothing here concerns Pillow."""
