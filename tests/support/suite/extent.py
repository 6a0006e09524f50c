"""How the suite runs, as `conftest` was told; modules that make their cases when they are imported read it."""

full = False
"""`--full`: also what takes long; what continuous integration runs."""

every_row = False
"""`--every-row`: every case of a sweep that the full suite takes a part of; for hours, by hand."""

renews_golden = False
"""`--renew-golden`: texts that tests compare are written anew."""
