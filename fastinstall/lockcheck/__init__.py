"""Check requirement and lock files: would installing from them bring stock Pillow back?"""
