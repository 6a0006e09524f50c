"""What tests know of the releases that an index offers."""

NEWEST = r"1[3-9]\.\d+\.\d+"
"""Pattern of the version of today's Pillow, which was 13.0.0 when the tests were written."""
