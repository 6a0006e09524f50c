"""How fast images are loaded here, what bounds it, and what would help; measured in the target."""
