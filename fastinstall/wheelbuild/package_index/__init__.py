"""Publish wheels as a static package index: check them, and write checksums and pages."""
