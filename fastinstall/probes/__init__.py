"""What is true of a target and of this machine: one fact each, observed and never judged."""
