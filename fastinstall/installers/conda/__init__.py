"""Engines that install conda packages: the user's own conda, and py-rattler for those who have none."""
