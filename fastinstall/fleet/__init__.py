"""Many machines: choose the few wheels that serve them, build one wheelhouse, and sum up their reports."""
