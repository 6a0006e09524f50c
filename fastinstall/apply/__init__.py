"""Carry out a plan: prepare, swap, verify, commit."""
