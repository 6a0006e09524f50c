"""Publish wheels in a directory that serves as a wheelhouse and as a static package index."""
