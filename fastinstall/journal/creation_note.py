"""The note in an environment that is being made: everything beside it came by that making.

It is the first thing written to the directory and the last one removed, so that the next run can finish what a killed
run began.
"""

import json
from pathlib import Path

from fastinstall import __version__
from fastinstall.core import files, foreign
from fastinstall.core.parsing import json_data
from fastinstall.journal.layout import CREATION, RECEIPT
from fastinstall.model.history import Interruption, UnfinishedRun
from fastinstall.model.request import DIST_NAMES

_CREATION_SCHEMA = "fastinstall.creation/1"

_ENTRIES = frozenset({"bin", "include", "lib", "lib64", "pyvenv.cfg", "share", ".gitignore", CREATION})

_PACKAGES = frozenset({"pip", "setuptools", "wheel", *(name.replace("-", "_") for name in DIST_NAMES)})


def note(prefix: Path, at: str) -> None:
    """Begin: write down that what comes into an empty directory comes from us.

    Args:
        prefix: the empty directory that becomes the environment.
        at: when, ISO 8601, UTC.

    Raises:
        OSError: as the kernel says.
    """
    document = {"schema": _CREATION_SCHEMA, "at": at, "tool_version": __version__}
    files.write_text(prefix / CREATION, f"{json.dumps(document)}\n")


def finish(prefix: Path) -> None:
    """Take the note away: the environment is made, or taken as it is."""
    files.discard(prefix / CREATION)
    files.sync_directory(prefix)


def clear(prefix: Path) -> None:
    """Take away all that came, the note last; the directory itself stays.

    Raises:
        OSError: as the kernel says; called again, it goes on.
    """
    for entry in tuple(prefix.iterdir()) if prefix.is_dir() else ():
        if entry.name != CREATION:
            files.discard(entry)
    files.discard(prefix / CREATION)


def creation_interruption(prefix: Path) -> Interruption | None:
    """Return the making of an environment that a run did not bring to its end; the caller knows that it is dead."""
    file = prefix / CREATION
    if not file.is_file():
        return None
    kind = UnfinishedRun.CLEANUP if (prefix / RECEIPT).is_file() else UnfinishedRun.CREATION
    return Interruption(kind=kind, verb="setup", at=str(_read(prefix).get("at", "")), file=file)


def find_unknown_entries(prefix: Path) -> tuple[str, ...]:
    """Return what is there, and comes from no such making: somebody works in the environment by now."""
    entries = (entry for entry in prefix.iterdir() if entry.name not in _ENTRIES)
    packages = (
        metadata
        for metadata in prefix.glob("lib/python*/site-packages/*.dist-info")
        if metadata.name.partition("-")[0].lower() not in _PACKAGES
    )
    return tuple(sorted(path.relative_to(prefix).as_posix() for path in (*entries, *packages)))


def _read(prefix: Path) -> dict[str, object]:
    try:
        data = json_data(foreign.read_bytes(prefix / CREATION))
    except (OSError, ValueError):  # it died while it wrote: nothing else had come by then
        return {}
    return data if isinstance(data, dict) else {}
