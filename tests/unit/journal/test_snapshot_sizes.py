"""Removing a file frees no space if another hard link to the file remains."""

import os
from pathlib import Path

from fastinstall.journal.snapshot import measure_freed_bytes


def _blocks(*paths: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in paths)


def test_trees_count_whole_and_what_is_not_there_counts_nothing(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/file").write_bytes(b"x" * 10_000)
    (tree / "link").symlink_to("sub")
    expected = _blocks(tree, tree / "sub", tree / "sub/file", tree / "link")
    assert measure_freed_bytes((tree, tmp_path / "missing")) == expected > 0


def test_a_file_that_a_package_cache_holds_too_frees_nothing(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "one").write_bytes(b"x" * 10_000)
    os.link(tree / "one", tree / "two")
    both = measure_freed_bytes((tree,))
    assert both == _blocks(tree, tree / "one")
    os.link(tree / "one", tmp_path / "cached")
    assert measure_freed_bytes((tree,)) == _blocks(tree)
