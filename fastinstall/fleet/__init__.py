"""Support for many machines: choose few wheels for all, build one wheelhouse, and sum up doctor's reports."""
