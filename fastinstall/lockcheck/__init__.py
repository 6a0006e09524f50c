"""Requirement and lock files: would an installation from them bring stock Pillow back?"""
