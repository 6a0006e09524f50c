"""The identity of a transaction: its time and a few random digits."""

import secrets
from datetime import UTC, datetime

from fastinstall.core.values import immutable


@immutable
class Stamp:
    """The identity of a transaction.

    Attributes:
        id: time and random digits; identifiers sort by time ("20261121T101500Z-3fa2c1").
        at: the time in ISO 8601, UTC, to the second.
    """

    id: str
    at: str


def stamp(moment: datetime, token: str) -> Stamp:
    """Return the stamp for a timezone-aware time and a token of six hexadecimal digits.

    >>> from datetime import UTC, datetime
    >>> stamp(datetime(2026, 11, 21, 10, 15, tzinfo=UTC), "3fa2c1").id
    '20261121T101500Z-3fa2c1'
    """
    utc = moment.astimezone(UTC).replace(microsecond=0)
    return Stamp(id=f"{utc:%Y%m%dT%H%M%SZ}-{token}", at=utc.isoformat().replace("+00:00", "Z"))


def make_stamp() -> Stamp:
    """Return a stamp of the current time with a random token."""
    return stamp(datetime.now(UTC), secrets.token_hex(3))
