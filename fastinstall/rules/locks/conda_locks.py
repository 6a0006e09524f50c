"""Reads what conda, conda-lock and pixi lock: pixi.lock, conda-lock.yml, and explicit lists of URLs. Pure.

Entries for other machines than Linux on x86-64 are left out. Sources: the files themselves (pixi.lock of versions 5 to
7, conda-lock.yml of version 1), and conda's documentation of `conda list --explicit`.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.errors import DocumentError
from fastinstall.model.locks import LockEntry
from fastinstall.rules.locks.kinds import is_explicit
from fastinstall.rules.locks.names import PROVIDERS, archive, conda_archive, file_name, normalised
from fastinstall.rules.locks.yaml_lines import Item, items, section

_SUBDIR = re.compile(r"/(linux-[\w-]+|osx-[\w-]+|win-[\w-]+|emscripten-[\w-]+|wasi-[\w-]+|zos-\w+|freebsd-\w+)/")
_OURS = "linux-64"
_COMMENTED = re.compile(r"(^|\s)#\s.*$")


def read_pixi(text: str, file: PurePath) -> tuple[LockEntry, ...]:
    """Read a pixi.lock.

    Raises:
        DocumentError: it lists no packages as pixi does.
    """
    found: list[LockEntry] = []
    for item in items(section(text, "packages", file)):
        kind = item.keys.get("kind", next((key for key in ("conda", "pypi") if key in item.keys), ""))
        if not kind:
            raise DocumentError(file, f"line {item.line}", "a package that is neither of conda nor of PyPI")
        source = item.keys.get(kind) or item.keys.get("url") or item.keys.get("path", "")
        line = item.lines.get(kind) or item.lines.get("url") or item.line
        if kind == "conda":
            found += _of_conda(source, item.line, line)
        else:
            found += _of_pypi(item, source, line)
    return tuple(found)


def read_conda_lock(text: str, file: PurePath) -> tuple[LockEntry, ...]:
    """Read a conda-lock.yml.

    Raises:
        DocumentError: it lists no packages as conda-lock does.
    """
    found: list[LockEntry] = []
    for item in items(section(text, "package", file)):
        if not {"name", "manager", "url"} <= item.keys.keys():
            raise DocumentError(file, f"line {item.line}", "a package without name, manager or url")
        if item.keys.get("platform", _OURS) != _OURS:
            continue
        if item.keys["manager"] == "conda":
            found += _of_conda(item.keys["url"], item.line, item.lines["url"])
        else:
            found += _of_pypi(item, item.keys["url"], item.lines["url"])
    return tuple(found)


def read_explicit(text: str, file: PurePath) -> tuple[LockEntry, ...]:
    """Read a list of URLs, one a line, below the mark `@EXPLICIT`.

    Raises:
        DocumentError: the mark is not there.
    """
    if not is_explicit(text):
        raise DocumentError(file, "@EXPLICIT", "missing: a list of URLs has it on a line of its own")
    found: list[LockEntry] = []
    for number, line in enumerate(text.splitlines(), start=1):
        place = _COMMENTED.sub("", line).strip()
        if place and not place.startswith(("@", "#")):
            found += _of_conda(place, number, number)
    return tuple(found)


def _of_conda(source: str, first: int, line: int) -> Iterator[LockEntry]:
    name, version, build = conda_archive(source)
    subdir = _SUBDIR.search(source)
    if name in PROVIDERS and (subdir is None or subdir[1] == _OURS):
        yield LockEntry(
            name=name,
            says=file_name(source),
            line=line,
            first=first,
            last=line,
            version=version,
            source=source,
            build=build,
            is_conda=True,
        )


def _of_pypi(item: Item, source: str, line: int) -> Iterator[LockEntry]:
    named, version = archive(source)
    name = normalised(item.keys.get("name", named))
    if name in PROVIDERS and _fits(file_name(source)):
        told = file_name(source) or f"{name} {item.keys.get('version', '')}"
        version = item.keys.get("version", version)
        yield LockEntry(name=name, says=told, line=line, first=item.line, last=line, version=version, source=source)


def _fits(name: str) -> bool:
    """Whether a file is no wheel of another machine's."""
    tags = name.removesuffix(".whl").rpartition("-")[2]
    return not name.endswith(".whl") or tags == "any" or "x86_64" in tags.replace("macosx", "")
