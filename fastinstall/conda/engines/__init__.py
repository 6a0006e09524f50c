"""What installs conda packages: the user's own conda, or py-rattler."""
