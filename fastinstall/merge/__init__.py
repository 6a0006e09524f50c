"""Merge a fork's changes onto a later source by meaning: syntax trees of C, item by item, statement by statement."""
