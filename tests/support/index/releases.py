"""Facts about releases on the index that tests rely on."""

NEWEST = r"1[3-9]\.\d+\.\d+"
"""Pattern of the current Pillow's version, which was 13.0.0 when the tests were written."""
