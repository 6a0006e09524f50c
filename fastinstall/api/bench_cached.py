"""What of a PIL is in our cache already, found by names alone: a whole index of what lies there takes seconds."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.build.cache import Entry
from fastinstall.errors import DocumentError
from fastinstall.model.artefact import Artefact
from fastinstall.model.codec import open_document
from fastinstall.model.facts import Interpreter
from fastinstall.model.parsing import json_data
from fastinstall.model.wish import LinkMode, Wish
from fastinstall.rules.numbering import base_version, parsed
from fastinstall.system import foreign

if TYPE_CHECKING:
    from packaging.version import Version


def find_official_wheel(cache: Path, interpreter: Interpreter) -> Artefact | None:
    """The newest official wheel of Pillow that was ever fetched and fits.

    Args:
        cache: root of our cache.
        interpreter: that it has to fit.
    """
    from fastinstall.installers import selection  # noqa: PLC0415 (packaging, only where a wheel is looked for)

    tags = set(selection.supported_tags(interpreter))
    found = []
    for path in (cache / "downloads").glob("[0-9a-f][0-9a-f]/*/pillow-*.whl"):
        name = selection.parse_filename(path.name)
        if name is not None and name.tags & tags and name.version.local is None:
            found.append((name.version, path))
    if not found:
        return None
    version, path = max(found)
    digest = path.parent.name
    return Artefact(name="pillow", version=str(version), filename=path.name, url=path.as_uri(), sha256=digest)


def find_cached_build(cache: Path, interpreter: Interpreter) -> Path | None:
    """The newest wheel of the usual recipe that was built for this Python before; of several, that with most levels.

    Args:
        cache: root of our cache.
        interpreter: that it was built for.
    """
    found = max(_entries(cache, interpreter), key=lambda each: _rank(each[1]), default=None)
    return found[0] if found else None


def _entries(cache: Path, interpreter: Interpreter) -> Iterator[tuple[Path, Entry]]:
    python = f"{interpreter.implementation} {'.'.join(interpreter.version.split('.')[:2])} {interpreter.abi}"
    wanted = {"recipe": Wish().recipe, "link": LinkMode.BUNDLE.value, "python": python}
    for result in sorted((cache / "wheels").glob("*/result.json")):
        entry = _read(result)
        if entry is None or any(entry.inputs.get(name) != value for name, value in wanted.items()):
            continue
        if entry.inputs.get("distribution", "").startswith("pillow ") and (result.parent / entry.wheel).is_file():
            yield result.parent / entry.wheel, entry


def _read(path: Path) -> Entry | None:
    try:
        return open_document(Entry, "build", json_data(foreign.read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None


def _rank(entry: Entry) -> tuple["Version", int]:
    version = entry.wheel.split("-")[1]
    return parsed(base_version(version)), len(version)
