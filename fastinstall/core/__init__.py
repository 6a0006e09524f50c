"""What everything else stands on: errors, values, files, processes, archives, locks. It knows nothing of Pillow."""
