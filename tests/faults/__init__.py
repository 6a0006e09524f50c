"""Injected faults: kills, disk errors, signals and power losses at every system call that changes something."""
