"""Observe an environment and this machine, without judging them. Files named `_*.py` run as subprocesses."""
