"""The engines that install conda packages: the user's own conda, and py-rattler."""
