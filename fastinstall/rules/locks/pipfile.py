"""Reads Pipfile.lock. Pure.

It is JSON as pipenv writes it, so that each package begins on a line of its own. It bears no comments.
Source: pipenv's documentation, "Pipfile & Pipfile.lock".
"""

import json
import re
from pathlib import PurePath
from typing import Any

from fastinstall.errors import DocumentError
from fastinstall.model.locks import LockEntry
from fastinstall.model.parsing import json_data
from fastinstall.model.recipe import PROVIDERS
from fastinstall.rules.locks.names import file_name, normalised
from fastinstall.rules.locks.requirements import exact_version

_META = "_meta"


def read_pipfile(text: str, file: PurePath) -> tuple[LockEntry, ...]:
    """Read a lock.

    Raises:
        DocumentError: no JSON, or not as pipenv writes it.
    """
    found = []
    for section, packages in _sections(text, file).items():
        for name, package in packages.items():
            if normalised(name) in PROVIDERS:
                found.append(_entry(name, package, _line(text, section, name)))
    return tuple(found)


def _sections(text: str, file: PurePath) -> dict[str, dict[str, Any]]:
    try:
        data = json_data(text)
    except json.JSONDecodeError as error:
        raise DocumentError(file, f"line {error.lineno}", f"no JSON: {error.msg}") from None
    except ValueError as error:
        raise DocumentError(file, "", f"no JSON: {error}") from None
    if not isinstance(data, dict) or _META not in data:
        raise DocumentError(file, _META, "missing: pipenv writes it into each lock")
    sections = {key: packages for key, packages in data.items() if key != _META}
    for key, packages in sections.items():
        if not isinstance(packages, dict) or not all(isinstance(each, dict) for each in packages.values()):
            raise DocumentError(file, key, "expected a table of packages")
    return sections


def _entry(name: str, package: dict[str, Any], line: int) -> LockEntry:
    version = exact_version(str(package.get("version", "")))
    source = next((str(package[key]) for key in ("path", "file", "git") if key in package), "")
    told = f"{name}{package.get('version', '')}"
    return LockEntry(
        name=normalised(name),
        says=f"{told} @ {file_name(source)}" if source else told,
        line=line,
        first=line,
        last=line,
        version=version,
        source=source,
        marker=str(package.get("markers", "")),
    )


def _line(text: str, section: str, name: str) -> int:
    """Where a package of a section begins; 1 where the file is written otherwise than pipenv does."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if _opens(line, section)), 0)
    return next((number + 1 for number in range(start, len(lines)) if _opens(lines[number], name)), 1)


def _opens(line: str, key: str) -> bool:
    return re.match(rf'\s*"{re.escape(key)}"\s*:\s*\{{', line) is not None
