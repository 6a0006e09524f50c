"""Wheels that pip has fetched into our cache for one purpose, used for 30 days.

Each fetch has a directory named after its content; `latest.json` beside them names the latest one, and is valid only
while all its files are intact.
"""

import time
from pathlib import Path
from typing import TypeVar

from fastinstall.core import codec, files, foreign, sealed_trees
from fastinstall.core.values import immutable

_LIFETIME = 30 * 24 * 3600.0
_LATEST = "latest.json"


@immutable
class FetchedWheels:
    """One fetch.

    Attributes:
        directory: the name of the directory of the wheels.
        files: sha256 by file name.
    """

    directory: str
    files: dict[str, str]


T = TypeVar("T", bound=FetchedWheels)


def describe_wheels(directory: Path) -> FetchedWheels:
    """Describe the wheels that lie in a directory."""
    digests = {path.name: files.sha256(path) for path in sorted(directory.iterdir())}
    return FetchedWheels(directory=codec.digest(digests)[:16], files=digests)


def read_latest(kind: type[T], name: str, place: Path, cache: Path) -> tuple[T | None, bool]:
    """Read which fetch is the latest.

    Args:
        kind: the class of the record.
        name: the name of the record's document.
        place: the directory of the fetches.
        cache: our cache directory, in which it lies.

    Returns:
        The record, and whether it is recent; None if it cannot be read or its files are not what was fetched.
    """
    record = foreign.read_kept(kind, name, place / _LATEST)
    kept = place / record.directory if record is not None else place
    if (
        record is None
        or not sealed_trees.is_intact(kept, cache=cache)
        or {*record.files} != {*foreign.list_names(kept)}
    ):
        return None, False
    return record, time.time() - (place / _LATEST).stat().st_mtime <= _LIFETIME


def keep_latest(fresh: Path, place: Path, name: str, record: T, *, cache: Path | None) -> T:
    """Put fetched wheels into their place, and make them the latest.

    Args:
        fresh: their directory; moved away.
        cache: our cache directory, which seals them; None if they serve this run alone.
    """
    target, aside = place / record.directory, fresh.with_name("aside")
    if cache is None:
        files.publish(fresh, target, aside)
    else:
        sealed_trees.publish_sealed(fresh, target, aside, cache=cache)
    files.write_text(place / _LATEST, codec.dump(codec.document(name, record)))
    return record
