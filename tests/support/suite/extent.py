"""How the suite runs, as `conftest` was told; modules that make their cases when they are imported read it."""

from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

full = False
"""`--full`: also what takes long; what continuous integration runs."""

every_row = False
"""`--every-row`: every case of a sweep that the full suite takes a part of; for hours, by hand."""

renews_golden = False
"""`--renew-golden`: texts that tests compare are written anew."""


def every_second(cases: Iterable[Case]) -> list[Case]:
    """Return every second case of a sweep whose cases are long and alike; all of them with `--every-row`."""
    return list(cases)[:: 1 if every_row else 2]
