"""Which renames put linked conda packages in place, beside those of site-packages, and move aside what they replace."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.model.conda import Conda
from fastinstall.model.receipt import Move, MoveKind
from fastinstall.model.steps import Swap

_RECORDS = "conda-meta"
_WHOLE = frozenset({".dist-info", ".egg-info", ".libs"})
"""Suffixes of directories in site-packages that belong to one distribution."""


def conda_moves(prefix: Path, site_packages: Path, root: Path, conda: Conda, swap: Swap) -> tuple[Move, ...]:
    """The moves outside of site-packages, and of what conda alone knows inside it.

    Args:
        prefix: the environment.
        site_packages: of the environment.
        root: the staged environment, at `stage/prefix` of the transaction.
        conda: what conda knows of the environment.
        swap: names the records that make room.
    """
    site = site_packages.relative_to(prefix)
    linked = linked_moves(prefix, root, kept="stage/prefix")
    coming = tuple(move for move in linked if not PurePath(move.live).is_relative_to(site))
    taken = {move.live for move in coming}
    leaving = (f"{_RECORDS}/{dist}.json" for dist in swap.records)
    records = tuple(_leaving(prefix, (path for path in leaving if path not in taken)))
    whole = {str(site / name) for name in claimed_entries(site, conda, swap)}
    singly = (path for path in _claimed(conda, swap) if path not in taken and not _lies_in(path, whole))
    return (*coming, *records, *_leaving(prefix, singly))


def linked_moves(prefix: Path, root: Path, *, kept: str) -> Iterator[Move]:
    """What an engine has linked, file by file, less what it writes beside the records.

    Args:
        prefix: the environment.
        root: the staged environment.
        kept: where `root` lies, relative to the transaction's directory.
    """
    for directory, _, names in os.walk(root):
        for name in sorted(names):
            path = (Path(directory) / name).relative_to(root).as_posix()
            if path.startswith(f"{_RECORDS}/") and not path.endswith(".json"):
                continue
            kind = MoveKind.EXCHANGE if os.path.lexists(prefix / path) else MoveKind.IN
            yield Move(kind=kind, live=path, kept=f"{kept}/{path}")


def claimed_entries(site: PurePath, conda: Conda | None, swap: Swap) -> tuple[str, ...]:
    """Top-level names in site-packages that are wholly of the conda packages that make room.

    Args:
        site: site-packages, relative to the prefix.
        conda: what conda knows of the environment.
        swap: names the records that make room.
    """
    if conda is None:
        return ()
    paths = (PurePath(path) for path in _claimed(conda, swap))
    tops = dict.fromkeys(path.relative_to(site).parts[0] for path in paths if path.is_relative_to(site))
    return tuple(name for name in tops if name == "PIL" or PurePath(name).suffix in _WHOLE)


def _claimed(conda: Conda, swap: Swap) -> Iterator[str]:
    """Files of the packages that make room, each once."""
    files = (path for claim in conda.claims if claim.dist in swap.records for path in claim.files)
    return iter(dict.fromkeys(files))


def _lies_in(path: str, directories: set[str]) -> bool:
    return any(str(parent) in directories for parent in (PurePath(path), *PurePath(path).parents))


def _leaving(prefix: Path, paths: Iterable[str]) -> Iterator[Move]:
    for path in paths:
        if os.path.lexists(prefix / path):
            yield Move(kind=MoveKind.OUT, live=path, kept=f"aside/conda/{path}")
