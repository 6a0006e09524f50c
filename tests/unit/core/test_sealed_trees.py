"""Trees in the cache: a tree that was changed, or that belongs to another user, counts as missing."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fastinstall.core.sealed_trees import is_intact, publish_sealed


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def make(directory: Path) -> Path:
    (directory / "bin").mkdir(parents=True)
    (directory / "bin/cc").write_text("#!/bin/sh\n")
    (directory / "bin/gcc").symlink_to("cc")
    return directory


@pytest.fixture
def tree(cache: Path, tmp_path: Path) -> Path:
    place = cache / "toolchains/clang-1"
    publish_sealed(make(tmp_path / "fresh"), place, tmp_path / "aside", cache=cache, but=("own",))
    return place


def test_a_tree_is_intact_as_it_was_published(tree: Path, cache: Path) -> None:
    assert is_intact(tree, cache=cache, but=("own",))
    (tree / "own").mkdir()
    assert is_intact(tree, cache=cache, but=("own",))
    assert not is_intact(tree, cache=cache)


def relink(tree: Path) -> None:
    (tree / "bin/gcc").unlink()
    (tree / "bin/gcc").symlink_to("/usr/bin/cc")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file's content": lambda tree: (tree / "bin/cc").write_text("#!/bin/sh\n#"),
    "what a link says": relink,
    "one file more": lambda tree: (tree / "bin/ld").write_text(""),
    "one directory more": lambda tree: (tree / "include").mkdir(),
    "one file less": lambda tree: (tree / "bin/gcc").unlink(),
    "a file for everybody to change": lambda tree: (tree / "bin/cc").chmod(0o757),
    "a directory for everybody to fill": lambda tree: (tree / "bin").chmod(0o777),
    "a file that blocks": lambda tree: os.mkfifo(tree / "bin/ld"),
    "none of it": lambda tree: tree.rename(tree.with_name("gone")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_tree_is_not(tree: Path, cache: Path, change: str) -> None:
    CHANGES[change](tree)
    assert not is_intact(tree, cache=cache, but=("own",))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("name", ["", "bin", "bin/cc", "own"])
def test_a_tree_in_which_another_user_owns_something_is_not(tree: Path, cache: Path, name: str) -> None:
    (tree / "own").mkdir()
    os.chown(tree / name, 12345, -1)
    assert not is_intact(tree, cache=cache, but=("own",))


def test_a_tree_without_a_manifest_is_not(cache: Path) -> None:
    assert not is_intact(make(cache / "toolchains/clang-1"), cache=cache)


def test_a_changed_tree_is_replaced(tree: Path, cache: Path, tmp_path: Path) -> None:
    (tree / "bin/ld").write_text("")
    publish_sealed(make(tmp_path / "again"), tree, tmp_path / "aside", cache=cache)
    assert is_intact(tree, cache=cache)
