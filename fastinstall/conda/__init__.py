"""The stack as conda packages: made, linked beside the environment, swapped in, and kept from being replaced."""
