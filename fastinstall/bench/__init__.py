"""Proof of speed: two stacks measured in turn, in processes of the target's own interpreter."""
