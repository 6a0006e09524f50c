"""Options for how much of the suite runs, set by `conftest`, and read by modules that create cases at import."""

from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

full = False
"""`--full`: include long tests, as in continuous integration."""

every_row = False
"""`--every-row`: all cases of sweeps that the full suite samples; takes hours."""

renews_golden = False
"""`--renew-golden`: rewrite the texts that tests compare."""


def every_second(cases: Iterable[Case]) -> list[Case]:
    """Return every second case of a sweep with long, similar cases; all of them with `--every-row`."""
    return list(cases)[:: 1 if every_row else 2]
