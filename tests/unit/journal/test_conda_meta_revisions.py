"""An undo restores conda's history without our revision, and with the revisions that others have added since."""

import hashlib
import os
from pathlib import Path

import pytest

from fastinstall.journal.conda_meta import keep_later_revisions, list_later_revisions

FIRST = b"==> one <==\n+python\n"
SECOND = b"==> two <==\n+turbo\n"
THIRD = b"==> three <==\n+numpy\n"


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.mark.parametrize(
    ("content", "known", "expected"),
    [
        (FIRST, (FIRST,), b""),
        (FIRST + SECOND, (FIRST,), SECOND),
        (FIRST + SECOND + THIRD, (FIRST,), SECOND + THIRD),
        (FIRST + SECOND + THIRD, (FIRST, FIRST + SECOND), THIRD),
        (FIRST, (b"",), FIRST),
        (b"", (b"",), b""),
        (THIRD + FIRST, (FIRST,), None),
        (FIRST[:-2] + SECOND, (FIRST,), None),
        (FIRST, (), None),
    ],
    ids=["as it was", "one", "two", "the longest", "all", "empty", "before it", "rewritten", "nothing known"],
)
def test_what_stands_behind_a_known_content(
    tmp_path: Path, content: bytes, known: tuple[bytes, ...], expected: bytes | None
) -> None:
    (tmp_path / "history").write_bytes(content)
    assert list_later_revisions(tmp_path / "history", [_digest(each) for each in known]) == expected


def test_a_history_that_is_not_there_or_elsewhere_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("history")
    assert list_later_revisions(tmp_path / "history", (_digest(FIRST),)) is None
    assert list_later_revisions(tmp_path / "link", (_digest(FIRST),)) is None


def test_revisions_are_carried_once_with_mode_and_time(tmp_path: Path) -> None:
    kept, live = tmp_path / "kept", tmp_path / "live"
    kept.write_bytes(FIRST)
    kept.chmod(0o640)
    live.write_bytes(SECOND + THIRD)
    os.utime(live, ns=(5, 7_000_000_000))
    for _ in range(2):
        keep_later_revisions(live, kept, (_digest(SECOND),))
        assert kept.read_bytes() == FIRST + THIRD
    assert (kept.stat().st_mode & 0o777, kept.stat().st_mtime_ns) == (0o640, 7_000_000_000)


def test_nothing_to_carry_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(FIRST)
    os.utime(kept, ns=(1, 1_000_000_000))
    keep_later_revisions(tmp_path / "absent", kept, ())
    assert kept.stat().st_mtime_ns == 1_000_000_000
