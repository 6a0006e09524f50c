"""The report of bench as text and as a page."""
