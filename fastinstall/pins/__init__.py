"""Pins of projects: one class a tool in `tools/`, what is written into manifests, tried first, and taken back."""
