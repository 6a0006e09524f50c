"""Write and read the note, a file that marks an environment as still being created by a setup.

The note is written before all other files, and removed last. If the setup is killed, the note shows the next run that
everything in the environment comes from that setup and may be removed.
"""

import json
from pathlib import Path

from fastinstall import __version__
from fastinstall.core import files, foreign
from fastinstall.journal.layout import CREATION, RECEIPT
from fastinstall.model.history import Interruption, UnfinishedRun
from fastinstall.model.request import DIST_NAMES

_CREATION_SCHEMA = "fastinstall.creation/1"

_ENTRIES = frozenset({"bin", "include", "lib", "lib64", "pyvenv.cfg", "share", ".gitignore", CREATION})

_PACKAGES = frozenset({"pip", "setuptools", "wheel", *(name.replace("-", "_") for name in DIST_NAMES)})


def note(prefix: Path, at: str) -> None:
    """Write the note into an empty directory.

    Args:
        prefix: the empty directory that becomes the environment.
        at: time of the start, ISO 8601, UTC.

    Raises:
        OSError: the note could not be written.
    """
    document = {"schema": _CREATION_SCHEMA, "at": at, "tool_version": __version__}
    files.write_text(prefix / CREATION, f"{json.dumps(document)}\n")


def finish(prefix: Path) -> None:
    """Remove the note, because the environment is complete or is accepted as it is."""
    files.discard(prefix / CREATION)
    files.sync_directory(prefix)


def clear(prefix: Path) -> None:
    """Remove the content of an environment that was being created, the note last; keep the directory itself.

    Raises:
        OSError: an entry could not be removed; calling again continues the removal.
    """
    for entry in tuple(prefix.iterdir()) if prefix.is_dir() else ():
        if entry.name != CREATION:
            files.discard(entry)
    files.discard(prefix / CREATION)


def creation_interruption(prefix: Path) -> Interruption | None:
    """Return the interrupted creation that the note records, or None if there is no note.

    The caller must check whether a run is active: if so, the creation is not interrupted.
    """
    file = prefix / CREATION
    if not file.is_file():
        return None
    at = str(foreign.read_object(file).get("at", ""))  # "" if a kill left the note incomplete
    kind = UnfinishedRun.CLEANUP if (prefix / RECEIPT).is_file() else UnfinishedRun.CREATION
    return Interruption(kind=kind, verb="setup", at=at, file=file)


def find_unknown_entries(prefix: Path) -> tuple[str, ...]:
    """Return entries and packages that setup never makes in a new environment: sorted paths, relative to the prefix.

    If there are any, somebody already uses the environment.
    """
    entries = (entry for entry in prefix.iterdir() if entry.name not in _ENTRIES)
    packages = (
        metadata
        for metadata in prefix.glob("lib/python*/site-packages/*.dist-info")
        if metadata.name.partition("-")[0].lower() not in _PACKAGES
    )
    return tuple(sorted(path.relative_to(prefix).as_posix() for path in (*entries, *packages)))
