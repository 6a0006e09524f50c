"""Reads what conda, conda-lock and pixi lock: pixi.lock, conda-lock.yml, and explicit lists of URLs. Pure.

Entries for other machines than Linux on x86-64 are left out. Sources: the files themselves (pixi.lock of versions 5 to
7, conda-lock.yml of version 1), and conda's documentation of `conda list --explicit`.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.errors import DocumentError
from fastinstall.model.immutable import immutable
from fastinstall.model.locks import LockEntry
from fastinstall.model.recipe import PROVIDERS
from fastinstall.rules.locks.kinds import is_explicit
from fastinstall.rules.locks.names import archive, conda_archive, file_name, normalised
from fastinstall.rules.yaml_document import Kind, Node, read_yaml

_SUBDIR = re.compile(r"/(linux-[\w-]+|osx-[\w-]+|win-[\w-]+|emscripten-[\w-]+|wasi-[\w-]+|zos-\w+|freebsd-\w+)/")
_OURS = "linux-64"
_COMMENTED = re.compile(r"(^|\s)#\s.*$")


def read_pixi(text: str, file: PurePath) -> tuple[LockEntry, ...]:
    """Read a pixi.lock.

    Raises:
        DocumentError: it is no YAML, or lists no packages as pixi does.
    """
    found: list[LockEntry] = []
    for package in _packages(text, "packages", file):
        kind = package.words.get("kind", next((key for key in ("conda", "pypi") if key in package.words), ""))
        if not kind:
            raise DocumentError(file, f"line {package.line}", "a package that is neither of conda nor of PyPI")
        key = next((each for each in (kind, "url", "path") if each in package.words), "")
        source, line = package.words.get(key, ""), package.lines.get(key, package.line)
        if kind == "conda":
            found += _of_conda(source, package.line, line)
        else:
            found += _of_pypi(package, source, line)
    return tuple(found)


def read_conda_lock(text: str, file: PurePath) -> tuple[LockEntry, ...]:
    """Read a conda-lock.yml.

    Raises:
        DocumentError: it is no YAML, or lists no packages as conda-lock does.
    """
    found: list[LockEntry] = []
    for package in _packages(text, "package", file):
        if not {"name", "manager", "url"} <= package.words.keys():
            raise DocumentError(file, f"line {package.line}", "a package without name, manager or url")
        if package.words.get("platform", _OURS) != _OURS:
            continue
        if package.words["manager"] == "conda":
            found += _of_conda(package.words["url"], package.line, package.lines["url"])
        else:
            found += _of_pypi(package, package.words["url"], package.lines["url"])
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


@immutable
class _Package:
    """A package of a list: what its keys say, where those are words, and their lines."""

    line: int
    words: dict[str, str]
    lines: dict[str, int]


def _packages(text: str, key: str, file: PurePath) -> Iterator[_Package]:
    document = read_yaml(text, file)
    listed = document.value(key) if document is not None else None
    if listed is None:
        raise DocumentError(file, key, "missing: expected it at the top of the file")
    for item in listed.items:
        words = {name: pair for name, pair in item.pairs().items() if pair[1].kind is Kind.SCALAR}
        yield _Package(
            line=item.line,
            words={name: value.text for name, (_, value) in words.items()},
            lines={name: _line(*pair) for name, pair in words.items()},
        )


def _line(key: Node, value: Node) -> int:
    """Where a key and its value stand; those of an alias elsewhere."""
    return max(key.line, value.line) if value.line <= key.last + 1 else key.line


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


def _of_pypi(package: _Package, source: str, line: int) -> Iterator[LockEntry]:
    named, version = archive(source)
    name = normalised(package.words.get("name", named))
    if name in PROVIDERS and _fits(file_name(source)):
        told = file_name(source) or f"{name} {package.words.get('version', '')}"
        version = package.words.get("version", version)
        yield LockEntry(name=name, says=told, line=line, first=package.line, last=line, version=version, source=source)


def _fits(name: str) -> bool:
    """Whether a file is no wheel of another machine's."""
    tags = name.removesuffix(".whl").rpartition("-")[2]
    return not name.endswith(".whl") or tags == "any" or "x86_64" in tags.replace("macosx", "")
