"""The trace that the hook writes for `read_events`, in environments that are moved, full or read-only."""

import json
import re
import sys
from pathlib import Path

import pytest
from support.environments.guarded import STACK, Guarded, make_guarded, warnings

from fastinstall.guard.status import read_events
from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE


@pytest.fixture
def own(tmp_path: Path) -> Guarded:
    return make_guarded(tmp_path, Path(sys.executable))


def test_what_is_told_is_written_down_once(own: Guarded) -> None:
    own.swap(tool='uv "quoted"', version="13.0.0")
    for _ in range(2):
        assert len(warnings(own.run("-c", "import PIL"))) == 1
    newest, oldest = read_events(own.prefix)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", newest.at)
    assert oldest.at <= newest.at
    assert (newest.change, newest.tool) == ("was replaced with Pillow 13.0.0", 'uv "quoted"')
    assert (newest.stack, newest.found) == (STACK, "13.0.0")


def test_silence_is_not_written_down(own: Guarded) -> None:
    own.run("-c", "import PIL")
    own.swap()
    own.run("-c", "import json")
    own.run("-c", "import PIL", FASTINSTALL_GUARD="0")
    assert read_events(own.prefix) == ()
    assert not (own.prefix / EVENTS).exists()


def test_what_was_removed_has_no_version(own: Guarded) -> None:
    (own.site / "PIL").rename(own.prefix / "elsewhere")
    own.run("-c", "import PIL")
    (event,) = read_events(own.prefix)
    assert (event.change, event.tool, event.found) == ("was removed", "", "")


def test_a_moved_environment_takes_its_trace_along(own: Guarded) -> None:
    own.swap()
    own.run("-c", "import PIL")
    moved = Guarded(prefix=own.prefix.rename(own.prefix.with_name("moved")), temporary=own.temporary)
    moved.run("-c", "import PIL")
    assert len(read_events(moved.prefix)) == 2


@pytest.mark.parametrize("hindrance", ["no directory", "a directory in its place", "a link in its place"])
def test_where_nothing_can_be_written_it_is_told_all_the_same(own: Guarded, hindrance: str) -> None:
    own.swap()
    file = own.prefix / EVENTS
    if hindrance == "no directory":
        file.parent.rmdir()
    elif hindrance == "a directory in its place":
        file.mkdir()
    else:
        file.symlink_to(own.temporary / "elsewhere")
    result = own.run("-c", "import PIL")
    assert (result.returncode, len(warnings(result)), len(result.stderr.splitlines())) == (0, 1, 2)
    assert not (own.temporary / "elsewhere").exists()
    assert file.parent.exists() == (hindrance != "no directory")


def test_it_stays_small_and_keeps_the_last_events(own: Guarded) -> None:
    own.swap()
    line = json.dumps({"at": "2026-01-01T00:00:00Z", "change": "was removed"}) + "\n"
    (own.prefix / EVENTS).write_text(line * ((1 << 15) // len(line)))
    for _ in range(3):
        own.run("-c", "import PIL")
    sizes = [(own.prefix / name).stat().st_size for name in (EVENTS, EVENTS_BEFORE)]
    assert sizes[0] < 1000
    assert sizes[1] < (1 << 15) + 1000
    assert [event.stack for event in read_events(own.prefix, limit=4)] == [STACK, STACK, STACK, ""]
