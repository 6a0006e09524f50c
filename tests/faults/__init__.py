"""Faults on purpose: deaths, errors of the disk, signals and power losses at every door of the operating system."""
