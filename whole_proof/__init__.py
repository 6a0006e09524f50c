"""Prove a recipe completely: a tool for maintainers, which runs from a clone and is never installed."""
