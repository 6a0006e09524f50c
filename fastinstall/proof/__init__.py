"""Prove a build: real operations against the official wheel, memory checks, upstream's own tests."""
