"""Read a requirement, lock or environment file of any supported format; parse locks in TOML. Pure.

uv.lock, poetry.lock, pdm.lock and pylock.toml list packages with name and version. The path of a wheel is read too,
because pdm omits the local label in the version. Sources: PEP 751 (pylock.toml), and files that the tools wrote.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import parse_toml
from fastinstall.core.version_numbers import normalise_distribution_name
from fastinstall.lockcheck.lock_names import LockKind, file_name
from fastinstall.lockcheck.requirement_files import RequirementsFile, read_requirements
from fastinstall.lockcheck.verdict import LockEntry
from fastinstall.model.recipe import PROVIDERS


def read_lock(kind: LockKind, text: str, file: PurePath) -> RequirementsFile:
    """Parse a file of a known format; files that it includes are listed, not read.

    Raises:
        DocumentError: the file is malformed; the message says where.
    """
    if kind is LockKind.REQUIREMENTS:
        return read_requirements(text, file)
    if kind in (LockKind.ENVIRONMENT, LockKind.PIXI):
        from fastinstall.lockcheck import yaml_files  # imports PyYAML, which takes 13 ms

        if kind is LockKind.ENVIRONMENT:
            return yaml_files.read_environment(text, file)
        return RequirementsFile(entries=tuple(yaml_files.read_pixi(text, file)))
    key = "packages" if kind is LockKind.PYLOCK else "package"
    return RequirementsFile(entries=tuple(_read_tables(text, file, key)))


def _read_tables(text: str, file: PurePath, key: str) -> Iterator[LockEntry]:
    """Yield the entries of a lock in TOML that provide PIL.

    Args:
        text: content of the file.
        file: its path, for messages.
        key: the key of the list of packages.

    Raises:
        DocumentError: the text is not TOML, or its list of packages is malformed.
    """
    packages = _parse_packages(text, key, file)
    head = re.compile(rf"\[\[\s*{key}\s*\]\]\s*(#.*)?")
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines, start=1) if head.fullmatch(line.strip())]
    if len(heads) != len(packages):
        raise DocumentError(file, key, f"expected each package under its own [[{key}]] line")
    for package, first in zip(packages, heads, strict=True):
        name, version = normalise_distribution_name(package["name"]), str(package.get("version", ""))
        if name in PROVIDERS:
            line, source = _find_version_line(lines, first), _find_source(package)
            told = f"{package['name']} {version}".strip()
            yield LockEntry(
                name=name,
                excerpt=f"{told} @ {file_name(source)}" if source else told,
                line=line,
                first=first,
                version=version,
                source=source,
                marker=_find_marker(package),
            )


def _parse_packages(text: str, key: str, file: PurePath) -> list[dict[str, Any]]:
    packages = parse_toml(text, file=file).get(key, [])
    if not isinstance(packages, list) or not all(isinstance(package, dict) for package in packages):
        raise DocumentError(file, key, "expected a list of tables")
    for number, package in enumerate(packages):
        if not isinstance(package.get("name"), str):
            raise DocumentError(file, f"{key}[{number}].name", "expected a string")
    return packages


def _find_version_line(lines: list[str], first: int) -> int:
    """Return the number of the line with a package's version, or with the package's name if it has no version."""
    own: dict[str, int] = {}
    for number, line in enumerate(lines[first:], start=first + 1):
        if line.lstrip().startswith("["):
            break
        own.setdefault(line.partition("=")[0].strip(), number)
    return own.get("version", own.get("name", first))


def _find_source(package: dict[str, Any]) -> str:
    """Return the path or URL of a package; empty if it comes from an index."""
    tables = [package, *(package.get(key) for key in ("source", "archive", "vcs", "directory"))]
    told = [table for table in tables if isinstance(table, dict) and table.get("type") != "legacy"]
    places = (table.get(key) for table in told for key in ("path", "url", "git", "directory", "editable"))
    return next((place for place in places if isinstance(place, str)), "")


def _find_marker(package: dict[str, Any]) -> str:
    """Return the marker of a package, empty if it has none; several markers are joined with "or"."""
    several = package.get("resolution-markers")
    if isinstance(several, list):
        return " or ".join(f"({each})" for each in several)
    told = package.get("marker", package.get("markers", ""))
    return told if isinstance(told, str) else ""
