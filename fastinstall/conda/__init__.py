"""The stack as conda packages: make them, link them beside the environment, swap them in, and guard them."""
