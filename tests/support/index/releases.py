"""Facts that tests assume about releases on the index."""

NEWEST = r"1[3-9]\.\d+\.\d+"
"""Pattern of the current Pillow's version, which was 13.0.0 when the tests were written."""
