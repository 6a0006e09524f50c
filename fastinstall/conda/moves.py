"""List the renames that put linked conda packages in place and move the replaced ones aside."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePath

from fastinstall.model.conda import Conda
from fastinstall.model.history import Move, MoveKind

_WHOLE = frozenset({".dist-info", ".egg-info", ".libs"})
"""Suffixes of directories in site-packages that always belong to a single distribution."""


def list_conda_moves(
    prefix: Path, site_packages: Path, root: Path, conda: Conda, records: Collection[str]
) -> tuple[Move, ...]:
    """Return the moves of a setup except the moves of whole top-level entries of site-packages.

    The returned moves 1. put linked files outside site-packages in place; 2. move the replaced packages' records and
    other files aside.

    Args:
        prefix: the environment.
        site_packages: the environment's site-packages.
        root: the staged environment, at `stage/prefix` in the transaction's directory.
        conda: conda's facts about the environment.
        records: the replaced packages, as NAME-VERSION-BUILD.
    """
    site = site_packages.relative_to(prefix)
    linked = list_linked_moves(prefix, root, kept="stage/prefix")
    coming = tuple(move for move in linked if not PurePath(move.live).is_relative_to(site))
    taken = {move.live for move in coming}
    whole = {site / name for name in find_claimed_entries(site, conda, records)}
    claimed = (
        path
        for path in _list_claimed_files(conda, records)
        if whole.isdisjoint((PurePath(path), *PurePath(path).parents))
    )
    leaving = (*(f"conda-meta/{dist}.json" for dist in records), *claimed)
    aside = (
        Move(kind=MoveKind.OUT, live=path, kept=f"aside/conda/{path}")
        for path in leaving
        if path not in taken and os.path.lexists(prefix / path)
    )
    return (*coming, *aside)


def list_linked_moves(prefix: Path, root: Path, *, kept: str) -> Iterator[Move]:
    """Yield a move into the prefix for each linked file, except files in `conda-meta` that are not records.

    Args:
        prefix: the environment.
        root: the staged environment, laid out like the prefix.
        kept: the path of `root`, relative to the transaction's directory.
    """
    for directory, _, names in os.walk(root):
        for name in sorted(names):
            path = (Path(directory) / name).relative_to(root).as_posix()
            if path.startswith("conda-meta/") and not path.endswith(".json"):
                continue
            kind = MoveKind.EXCHANGE if os.path.lexists(prefix / path) else MoveKind.IN
            yield Move(kind=kind, live=path, kept=f"{kept}/{path}")


def find_claimed_entries(site: PurePath, conda: Conda | None, records: Collection[str]) -> tuple[str, ...]:
    """Return the top-level names in site-packages that belong wholly to the replaced conda packages.

    Args:
        site: the path of site-packages, relative to the prefix.
        conda: conda's facts about the environment, or None if conda does not manage the environment.
        records: the replaced packages, as NAME-VERSION-BUILD.
    """
    if conda is None:
        return ()
    paths = (PurePath(path) for path in _list_claimed_files(conda, records))
    tops = dict.fromkeys(path.relative_to(site).parts[0] for path in paths if path.is_relative_to(site))
    return tuple(name for name in tops if name == "PIL" or PurePath(name).suffix in _WHOLE)


def _list_claimed_files(conda: Conda, records: Collection[str]) -> Iterator[str]:
    """Yield the files that the replaced packages claim, each once."""
    files = (path for claim in conda.claims if claim.dist in records for path in claim.files)
    return iter(dict.fromkeys(files))
