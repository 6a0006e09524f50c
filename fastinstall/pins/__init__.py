"""Pins of projects: one class per tool in `tools/`; pins are tried, written into manifests, and removed."""
