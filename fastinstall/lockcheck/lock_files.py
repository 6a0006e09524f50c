"""Read lock and environment files, each format by its own function; these formats name no other files. Pure.

- uv.lock, poetry.lock, pdm.lock, pylock.toml: TOML tables of packages with name and version. A wheel's path tells more
  than the version: pdm writes only the public part of it. Sources: PEP 751 (pylock.toml), and files that the tools have
  written.
- Pipfile.lock: JSON as pipenv writes it, so that each package begins on a line of its own. It has no comments. Source:
  pipenv's documentation, "Pipfile & Pipfile.lock".
- environment.yml, as conda, mamba and micromamba take it. Source: conda's documentation, "Creating an environment file
  manually", and that of its match specs.
- pixi.lock, conda-lock.yml, and explicit lists of URLs. Entries for machines other than Linux on x86-64 are left out.
  Sources: the files themselves (pixi.lock of versions 5 to 7, conda-lock.yml of version 1), and conda's documentation
  of `conda list --explicit`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data, toml_data
from fastinstall.core.values import immutable
from fastinstall.core.yaml_document import YamlKind, YamlNode, read_yaml
from fastinstall.lockcheck.requirement_files import RequirementsFile, find_exact_version, read_requirements
from fastinstall.lockcheck.verdict import (
    LockEntry,
    LockKind,
    archive,
    conda_archive,
    file_name,
    is_explicit,
    normalise_locked_name,
)
from fastinstall.model.conda_packages import bounds_of, name_of
from fastinstall.model.recipe import PROVIDERS

_LIST = {LockKind.UV: "package", LockKind.POETRY: "package", LockKind.PDM: "package", LockKind.PYLOCK: "packages"}
_VERSION = re.compile(r"\s*version\s*=")
_NAME = re.compile(r"\s*name\s*=")


def read_lock(kind: LockKind, text: str, file: PurePath) -> RequirementsFile:
    """Read a file of a kind; what it includes is for the caller to read.

    Raises:
        DocumentError: it is malformed; the place is named.
    """
    if kind is LockKind.REQUIREMENTS:
        return read_requirements(text)
    if kind is LockKind.ENVIRONMENT:
        return read_environment(text, file)
    entries = read_tables(kind, text, file) if kind in _LIST else _READERS[kind](text, file)
    return RequirementsFile(entries=tuple(entries))


def _shorten(told: str, source: str) -> str:
    return f"{told} @ {file_name(source)}" if source else told


def read_tables(kind: LockKind, text: str, file: PurePath) -> Iterator[LockEntry]:
    """Read a lock of one of the four kinds that are TOML.

    Raises:
        DocumentError: no TOML, or no packages are listed as this format has them.
    """
    key = _LIST[kind]
    packages = _parse_packages(text, key, file)
    head = re.compile(rf"\[\[\s*{key}\s*\]\]\s*(#.*)?")
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines, start=1) if head.fullmatch(line.strip())]
    if len(heads) != len(packages):
        raise DocumentError(file, key, f"expected every package under a line [[{key}]] of its own")
    for package, first in zip(packages, heads, strict=True):
        name, version = package["name"], str(package.get("version", ""))
        if normalise_locked_name(name) in PROVIDERS:
            line = _find_version_line(lines, first)
            source = _find_source(package)
            yield LockEntry(
                name=normalise_locked_name(name),
                says=_shorten(f"{name} {version}".strip(), source),
                line=line,
                first=first,
                last=line,
                version=version,
                source=source,
                marker=_find_marker(package),
            )


def _parse_packages(text: str, key: str, file: PurePath) -> list[dict[str, Any]]:
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


def _find_version_line(lines: list[str], first: int) -> int:
    """The line of a package's version, or of its name where it has none."""
    named = first
    for number, line in enumerate(lines[first:], start=first + 1):
        if _VERSION.match(line):
            return number
        if line.lstrip().startswith("["):
            break
        named = number if _NAME.match(line) else named
    return named


def _find_source(package: dict[str, Any]) -> str:
    """The path or URL that a package is taken from; empty if an index is asked."""
    tables = [package, *(package.get(key) for key in ("source", "archive", "vcs", "directory"))]
    told = [table for table in tables if isinstance(table, dict) and table.get("type") != "legacy"]
    places = (table.get(key) for table in told for key in ("path", "url", "git", "directory", "editable"))
    return next((place for place in places if isinstance(place, str)), "")


def _find_marker(package: dict[str, Any]) -> str:
    """When it is installed: of several markers one has to hold."""
    several = package.get("resolution-markers")
    if isinstance(several, list):
        return " or ".join(f"({each})" for each in several)
    told = package.get("marker", package.get("markers", ""))
    return told if isinstance(told, str) else ""


_META = "_meta"


def read_pipfile(text: str, file: PurePath) -> Iterator[LockEntry]:
    """Read a lock.

    Raises:
        DocumentError: no JSON, or not as pipenv writes it.
    """
    for section, packages in _parse_sections(text, file).items():
        for name, package in packages.items():
            if normalise_locked_name(name) in PROVIDERS:
                clauses = str(package.get("version", ""))
                source = next((str(package[key]) for key in ("path", "file", "git") if key in package), "")
                line = _find_line(text, section, name)
                yield LockEntry(
                    name=normalise_locked_name(name),
                    says=_shorten(f"{name}{clauses}", source),
                    line=line,
                    first=line,
                    last=line,
                    version=find_exact_version(clauses),
                    source=source,
                    marker=str(package.get("markers", "")),
                )


def _parse_sections(text: str, file: PurePath) -> dict[str, dict[str, Any]]:
    try:
        data = json_data(text)
    except ValueError as error:
        where = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise DocumentError(file, where, f"no JSON: {getattr(error, 'msg', error)}") from None
    if not isinstance(data, dict) or _META not in data:
        raise DocumentError(file, _META, "missing: pipenv writes it into each lock")
    sections = {key: packages for key, packages in data.items() if key != _META}
    for key, packages in sections.items():
        if not isinstance(packages, dict) or not all(isinstance(each, dict) for each in packages.values()):
            raise DocumentError(file, key, "expected a table of packages")
    return sections


def _find_line(text: str, section: str, name: str) -> int:
    """Where a package of a section begins; 1 where the file is written otherwise than pipenv does."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if _is_opening(line, section)), 0)
    return next((number + 1 for number in range(start, len(lines)) if _is_opening(lines[number], name)), 1)


def _is_opening(line: str, key: str) -> bool:
    return re.match(rf'\s*"{re.escape(key)}"\s*:\s*\{{', line) is not None


_KEY = "dependencies"
_BUILD_KEY = re.compile(r"\bbuild\s*=\s*['\"]?([^'\",\]]+)")
_CONDA_VERSION = re.compile(r"={0,2}(\d+\.\d+\.\d[\w.+]*)")
"""All three numbers of a version of Pillow; with fewer, conda takes them for a range."""
_ATTACHED = re.compile(r"={0,2}(?P<version>[^=<>!~]+)=(?P<build>[^=]+)")
_GAP = re.compile(r"\s*([,|]|[<>=!~]+)\s*")


def read_environment(text: str, file: PurePath) -> RequirementsFile:
    """Read a file: what it asks of conda and, in its lists for pip, of pip.

    Raises:
        DocumentError: it is no YAML, though it speaks of dependencies.
    """
    if _KEY not in text:  # of another program, which writes YAML or something like it under the same name
        return RequirementsFile()
    of_conda: list[LockEntry] = []
    of_pip: list[RequirementsFile] = []
    for item in _list_items(text, _KEY, file) or ():
        of_conda += _read_conda_item(item)
        lines = item.value("pip")
        of_pip += map(_read_pip_item, lines.items if lines is not None else ())
    return RequirementsFile(
        entries=(*of_conda, *(entry for each in of_pip for entry in each.entries)),
        includes=tuple(include for each in of_pip for include in each.includes),
        links=tuple(link for each in of_pip for link in each.links),
        refused=tuple(refused for each in of_pip for refused in each.refused),
    )


def _list_items(text: str, key: str, file: PurePath) -> tuple[YamlNode, ...] | None:
    """The items under a key at the top of a file; None if the key is not there."""
    document = read_yaml(text, file)
    listed = document.value(key) if document is not None else None
    return tuple(listed.items) if listed is not None else None


def _read_pip_item(item: YamlNode) -> RequirementsFile:
    """What an item of the list for pip says: conda writes each on a line of a requirement file."""
    said = read_requirements(item.text)
    return RequirementsFile(
        entries=tuple(replace(each, line=item.line, first=item.line, last=item.last) for each in said.entries),
        includes=tuple(replace(each, line=item.line) for each in said.includes),
        links=said.links,
        refused=tuple(replace(each, line=item.line) for each in said.refused),
    )


def _read_conda_item(item: YamlNode) -> Iterator[LockEntry]:
    spec = item.text.strip()
    name = name_of(spec) if item.kind is YamlKind.SCALAR else ""
    if name in PROVIDERS:
        version, build = _split_bounds(bounds_of(spec))
        yield LockEntry(
            name=name,
            says=spec,
            line=item.line,
            first=item.line,
            last=item.last,
            version=version,
            build=build,
            is_conda=True,
        )


def _split_bounds(bounds: str) -> tuple[str, str]:
    """The one version that a spec allows, and its build string: of "=13.0.0=py311_0", "13.0.0 py311_0", "[build=x]"."""
    keyed = _BUILD_KEY.search(bounds)
    joined = _GAP.sub(r"\1", bounds.partition("[")[0])
    version, _, build = joined.strip().partition(" ")
    attached = _ATTACHED.fullmatch(version)
    if attached is not None:
        version, build = attached["version"], attached["build"]
    found = _CONDA_VERSION.fullmatch(version)
    return (found[1] if found is not None else ""), keyed[1].strip(" \"'") if keyed is not None else build.strip()


_SUBDIR = re.compile(r"/(linux-[\w-]+|osx-[\w-]+|win-[\w-]+|emscripten-[\w-]+|wasi-[\w-]+|zos-\w+|freebsd-\w+)/")
_OURS = "linux-64"
_COMMENTED = re.compile(r"(^|\s)#\s.*$")


def read_pixi(text: str, file: PurePath) -> Iterator[LockEntry]:
    """Read a pixi.lock.

    Raises:
        DocumentError: it is no YAML, or lists no packages as pixi does.
    """
    for package in _read_conda_packages(text, "packages", file):
        kind = package.words.get("kind", next((key for key in ("conda", "pypi") if key in package.words), ""))
        if not kind:
            raise DocumentError(file, f"line {package.line}", "a package that is neither of conda nor of PyPI")
        key = next((each for each in (kind, "url", "path") if each in package.words), "")
        yield from _read_package(package, key, is_conda=kind == "conda")


def read_conda_lock(text: str, file: PurePath) -> Iterator[LockEntry]:
    """Read a conda-lock.yml.

    Raises:
        DocumentError: it is no YAML, or lists no packages as conda-lock does.
    """
    for package in _read_conda_packages(text, "package", file):
        if not {"name", "manager", "url"} <= package.words.keys():
            raise DocumentError(file, f"line {package.line}", "a package without name, manager or url")
        if package.words.get("platform", _OURS) == _OURS:
            yield from _read_package(package, "url", is_conda=package.words["manager"] == "conda")


def read_explicit(text: str, file: PurePath) -> Iterator[LockEntry]:
    """Read a list of URLs, one a line, below the mark `@EXPLICIT`.

    Raises:
        DocumentError: the mark is not there.
    """
    if not is_explicit(text):
        raise DocumentError(file, "@EXPLICIT", "missing: a list of URLs has it on a line of its own")
    for number, line in enumerate(text.splitlines(), start=1):
        place = _COMMENTED.sub("", line).strip()
        if place and not place.startswith(("@", "#")):
            yield from _read_conda_package(place, number, number)


_READERS = {
    LockKind.PIPFILE: read_pipfile,
    LockKind.PIXI: read_pixi,
    LockKind.CONDA_LOCK: read_conda_lock,
    LockKind.EXPLICIT: read_explicit,
}


@immutable
class _ListedPackage:
    """A package of a list: what its keys say, where those are words, and their lines."""

    line: int
    words: dict[str, str]
    lines: dict[str, int]


def _read_conda_packages(text: str, key: str, file: PurePath) -> Iterator[_ListedPackage]:
    items = _list_items(text, key, file)
    if items is None:
        raise DocumentError(file, key, "missing: expected it at the top of the file")
    for item in items:
        words = {name: pair for name, pair in item.pairs().items() if pair[1].kind is YamlKind.SCALAR}
        yield _ListedPackage(
            line=item.line,
            words={name: value.text for name, (_, value) in words.items()},
            lines={name: _find_conda_line(*pair) for name, pair in words.items()},
        )


def _find_conda_line(key: YamlNode, value: YamlNode) -> int:
    """Where a key and its value stand; those of an alias elsewhere."""
    return max(key.line, value.line) if value.line <= key.last + 1 else key.line


def _read_package(package: _ListedPackage, key: str, *, is_conda: bool) -> Iterator[LockEntry]:
    """A package that is taken from what a key says."""
    source, line = package.words.get(key, ""), package.lines.get(key, package.line)
    if is_conda:
        yield from _read_conda_package(source, package.line, line)
    else:
        yield from _read_pypi_package(package, source, line)


def _read_conda_package(source: str, first: int, line: int) -> Iterator[LockEntry]:
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


def _read_pypi_package(package: _ListedPackage, source: str, line: int) -> Iterator[LockEntry]:
    named, version = archive(source)
    name = normalise_locked_name(package.words.get("name", named))
    if name in PROVIDERS and _is_for_this_machine(file_name(source)):
        told = file_name(source) or f"{name} {package.words.get('version', '')}"
        version = package.words.get("version", version)
        yield LockEntry(name=name, says=told, line=line, first=package.line, last=line, version=version, source=source)


def _is_for_this_machine(name: str) -> bool:
    """Whether a file is no wheel of another machine's."""
    tags = name.removesuffix(".whl").rpartition("-")[2]
    return not name.endswith(".whl") or tags == "any" or "x86_64" in tags.replace("macosx", "")
