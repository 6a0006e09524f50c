"""Build, prove and guard the fast Python image stack."""

__version__ = "0.1.0"
