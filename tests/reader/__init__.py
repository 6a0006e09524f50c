"""Follows the documentation: runs the commands of its pages."""
