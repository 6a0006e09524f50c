"""A conda environment, from its files alone."""
