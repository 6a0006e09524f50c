"""The report of bench as text, table, chart and page."""
