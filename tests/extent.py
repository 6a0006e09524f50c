"""How much of the suite runs, as `conftest` was told; for modules that make their cases of it when they are imported."""

full = False
"""`--full`: also what takes long; what continuous integration runs."""

every_row = False
"""`--every-row`: every case of a sweep that the full suite takes a part of; for hours, by hand."""
