"""Files that are put out of the page cache, and those that cannot be."""

import mmap
import os
from pathlib import Path

import pytest

from fastinstall.bench import _cache
from fastinstall.bench.workloads import filesystem_of


class _Images:
    def __init__(self, *paths: Path) -> None:
        self.paths = [str(path) for path in paths]


class _Store(_Images):
    def files(self) -> list[str]:
        return self.paths[:1]


def _written(path: Path, pages: int) -> Path:
    path.write_bytes(os.urandom(pages * mmap.PAGESIZE))
    return path


def _on_disk(directory: Path) -> None:
    if filesystem_of(directory).memory:
        pytest.skip("the directory of temporary files lies in memory, which is never cold")


def test_what_was_just_written_or_read_is_put_out_of_the_cache(tmp_path: Path) -> None:
    _on_disk(tmp_path)
    paths = [_written(tmp_path / str(pages), pages) for pages in (0, 1, 2, 4096)]
    assert _cache.drop(_Images(*paths))
    paths[3].read_bytes()
    assert _cache.drop(_Images(*paths))


def test_a_file_that_somebody_has_mapped_stays(tmp_path: Path) -> None:
    _on_disk(tmp_path)
    used, other = _written(tmp_path / "used", 4), _written(tmp_path / "other", 4)
    with used.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[0] == used.read_bytes()[0]
        assert not _cache.drop(_Images(used, other))
        assert _cache.drop(_Images(other))


def test_the_files_of_a_store_are_its_own(tmp_path: Path) -> None:
    _on_disk(tmp_path)
    assert _cache.drop(_Store(_written(tmp_path / "store", 2), tmp_path / "no file of it"))


def test_a_file_that_is_not_there_is_not_called_cold(tmp_path: Path) -> None:
    assert not _cache.drop(_Images(tmp_path / "missing"))
