"""Observe an environment and this machine, without judging them. Files named `_*.py` run in the environment."""
