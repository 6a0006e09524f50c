"""Observe conda and its environments from files alone; conda is neither run nor imported."""
