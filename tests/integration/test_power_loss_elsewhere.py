"""A power failure while files outside environments are written: the cache, and single files."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.power_trial import Sample, record, try_all
from support.journal.environments import swift_directory

from fastinstall.core import files
from fastinstall.wheelbuild import wheel_cache

INPUTS = {"recipe": "pillow"}


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's files."""
    with swift_directory(tmp_path) as directory:
        yield directory


@pytest.mark.parametrize("there", [False, True], ids=["absent", "damaged"])
def test_an_entry_of_the_cache_is_whole_or_counts_as_absent(scenery: Path, *, there: bool) -> None:
    origin = scenery / "origin"
    origin.mkdir()
    key = wheel_cache.key_of(INPUTS)
    if there:
        _store(origin)
        (wheel_cache.directory_of(origin / "cache", key) / "ours.whl").write_bytes(b"damaged")

    def judge(top: Path) -> str:
        found = wheel_cache.find_cached_wheel(top / "cache", key, lambda _event: None)
        directory = wheel_cache.directory_of(top / "cache", key)
        if found is None:
            assert not directory.exists() or (directory / "ours.whl").read_bytes() == b"damaged"
            return "before"
        assert (directory / found.wheel).read_bytes() == b"ours"
        return "after"

    _trial(scenery, _store, judge, lasting=False)


@pytest.mark.parametrize("path", ["config.toml", "made/for/it/config.toml"])
def test_a_file_is_old_or_whole_and_persists_once_it_was_written(scenery: Path, path: str) -> None:
    (scenery / "origin").mkdir()
    (scenery / "origin" / "config.toml").write_text("old")

    def judge(top: Path) -> str:
        found = (top / path).read_text() if (top / path).exists() else ""
        assert found in ("old" if path == "config.toml" else "", "new")
        return "after" if found == "new" else "before"

    _trial(scenery, lambda top: files.write_text(top / path, "new"), judge)


def _trial(
    scenery: Path, work: Callable[[Path], object], judge: Callable[[Path], str], *, lasting: bool = True
) -> None:
    origin = scenery / "origin"
    outcomes = try_all(record(origin, lambda: work(origin)), scenery, judge, Sample(random=3))
    assert not outcomes.lost, str(outcomes)
    assert "after" in outcomes.ended
    assert not lasting or outcomes.ended.keys() == {"after"}, "what was said to be done is done"


def _store(top: Path) -> None:
    (top / "ours.whl").write_bytes(b"ours")
    wheel_cache.store_wheel(top / "cache", INPUTS, top / "ours.whl", {})
