"""Reads the lock files that are TOML: uv.lock, poetry.lock, pdm.lock, pylock.toml. Pure.

All of them list packages as tables with name and version. Where a wheel is named by its path, that tells more than the
version: pdm writes the public part of it only. Sources: PEP 751 (pylock.toml), and files that the tools have written.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fastinstall.errors import DocumentError
from fastinstall.model.immutable import immutable
from fastinstall.model.locks import LockEntry, LockKind
from fastinstall.model.parsing import toml_data
from fastinstall.model.recipe import PROVIDERS
from fastinstall.rules.locks.names import file_name, normalised

_LIST = {LockKind.UV: "package", LockKind.POETRY: "package", LockKind.PDM: "package", LockKind.PYLOCK: "packages"}
_VERSION = re.compile(r"\s*version\s*=")
_NAME = re.compile(r"\s*name\s*=")


@immutable
class _Block:
    """Where a package stands: from its head to the line that tells most, from 1."""

    first: int
    last: int


def read_tables(kind: LockKind, text: str, file: PurePath) -> tuple[LockEntry, ...]:
    """Read a lock.

    Args:
        kind: one of the four.
        text: its content.
        file: for messages.

    Raises:
        DocumentError: no TOML, or no packages are listed as this format has them.
    """
    key = _LIST[kind]
    packages = _packages(text, key, file)
    blocks = list(_blocks(text, key))
    if len(blocks) != len(packages):
        raise DocumentError(file, key, f"expected every package under a line [[{key}]] of its own")
    return tuple(
        _entry(package, block)
        for package, block in zip(packages, blocks, strict=True)
        if normalised(package["name"]) in PROVIDERS
    )


def _packages(text: str, key: str, file: PurePath) -> list[dict[str, Any]]:
    try:
        packages = toml_data(text).get(key, [])
    except ValueError as error:
        raise DocumentError(file, "", f"no TOML: {error}") from None
    if not isinstance(packages, list) or not all(isinstance(package, dict) for package in packages):
        raise DocumentError(file, key, "expected a list of tables")
    for number, package in enumerate(packages):
        if not isinstance(package.get("name"), str):
            raise DocumentError(file, f"{key}[{number}].name", "expected a string")
    return packages


def _blocks(text: str, key: str) -> Iterator[_Block]:
    """Where each package stands; in the order of the file, which is that of the parsed list."""
    head = re.compile(rf"\[\[\s*{key}\s*\]\]\s*(#.*)?")
    lines = text.splitlines()
    for first, line in enumerate(lines, start=1):
        if head.fullmatch(line.strip()):
            yield _Block(first=first, last=_telling(lines, first))


def _telling(lines: list[str], first: int) -> int:
    """The line of a package's version, or of its name where it has none."""
    named = first
    for number, line in enumerate(lines[first:], start=first + 1):
        if _VERSION.match(line):
            return number
        if line.lstrip().startswith("["):
            break
        named = number if _NAME.match(line) else named
    return named


def _entry(package: dict[str, Any], block: _Block) -> LockEntry:
    version, source = str(package.get("version", "")), _source(package)
    told = f"{package['name']} {version}".strip()
    return LockEntry(
        name=normalised(package["name"]),
        says=f"{told} @ {file_name(source)}" if source else told,
        line=block.last,
        first=block.first,
        last=block.last,
        version=version,
        source=source,
        marker=_marker(package),
    )


def _source(package: dict[str, Any]) -> str:
    """The path or URL that a package is taken from; empty where an index is asked."""
    tables = [package, *(package.get(key) for key in ("source", "archive", "vcs", "directory"))]
    told = [table for table in tables if isinstance(table, dict) and table.get("type") != "legacy"]
    places = (table.get(key) for table in told for key in ("path", "url", "git", "directory", "editable"))
    return next((place for place in places if isinstance(place, str)), "")


def _marker(package: dict[str, Any]) -> str:
    """When it is installed: of several markers one has to hold."""
    several = package.get("resolution-markers")
    if isinstance(several, list):
        return " or ".join(f"({each})" for each in several)
    told = package.get("marker", package.get("markers", ""))
    return told if isinstance(told, str) else ""
