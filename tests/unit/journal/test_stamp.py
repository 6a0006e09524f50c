"""Names of transactions."""

import re
from datetime import UTC, datetime, timedelta, timezone

from fastinstall.journal.stamp import make_stamp, stamp


def test_a_stamp_is_in_utc_to_the_second() -> None:
    moment = datetime(2026, 11, 21, 12, 15, 0, 999_999, tzinfo=timezone(timedelta(hours=2)))
    made = stamp(moment, "3fa2c1")
    assert (made.id, made.at) == ("20261121T101500Z-3fa2c1", "2026-11-21T10:15:00Z")


def test_stamps_sort_by_time() -> None:
    early = stamp(datetime(2026, 9, 30, tzinfo=UTC), "ffffff")
    late = stamp(datetime(2026, 10, 1, tzinfo=UTC), "000000")
    assert early.id < late.id


def test_a_fresh_stamp_has_the_form_that_a_sweep_recognises() -> None:
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{6}", make_stamp().id)
