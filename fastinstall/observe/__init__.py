"""What is true of a target and of this machine: observed, never judged. Files named `_*.py` run in the target."""
