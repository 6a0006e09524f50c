"""Read lock and environment files, each format by its own function; these formats name no other files. Pure.

- uv.lock, poetry.lock, pdm.lock, pylock.toml: TOML tables of packages with name and version. A wheel's path tells more
  than the version: pdm writes only the public part of it. Sources: PEP 751 (pylock.toml), and files that the tools have
  written.
- environment.yml, as conda, mamba and micromamba take it. Source: conda's documentation, "Creating an environment file
  manually", and that of its match specs.
- pixi.lock. Entries for other systems than Linux are left out. Source: the files themselves, of versions 5 to 7.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import toml_data
from fastinstall.core.yaml_document import YamlKind, YamlNode, read_yaml
from fastinstall.lockcheck.lock_kinds import LockKind
from fastinstall.lockcheck.locked_names import archive, conda_archive, file_name, normalise_locked_name
from fastinstall.lockcheck.requirement_files import RequirementsFile, read_requirements
from fastinstall.lockcheck.verdict import LockEntry
from fastinstall.model.dependants import bounds_of, name_of_spec
from fastinstall.model.recipe import PROVIDERS


def read_lock(kind: LockKind, text: str, file: PurePath) -> RequirementsFile:
    """Read a file of a kind; what it includes is for the caller to read.

    Raises:
        DocumentError: it is malformed; the place is named.
    """
    read = _READERS[kind](text, file)
    return read if isinstance(read, RequirementsFile) else RequirementsFile(entries=tuple(read))


def read_tables(text: str, file: PurePath, key: str = "package") -> Iterator[LockEntry]:
    """Read a lock of one of the four kinds that are TOML.

    Args:
        text: the TOML of the whole file.
        file: its path, for messages and relative sources.
        key: the key of the list of packages.

    Raises:
        DocumentError: no TOML, or no packages are listed as this format has them.
    """
    packages = _parse_packages(text, key, file)
    head = re.compile(rf"\[\[\s*{key}\s*\]\]\s*(#.*)?")
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines, start=1) if head.fullmatch(line.strip())]
    if len(heads) != len(packages):
        raise DocumentError(file, key, f"expected each package under its own [[{key}]] line")
    for package, first in zip(packages, heads, strict=True):
        name, version = normalise_locked_name(package["name"]), str(package.get("version", ""))
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
    try:
        packages = toml_data(text).get(key, [])
    except ValueError as error:
        raise DocumentError(file, "", f"not TOML: {error}") from None
    if not isinstance(packages, list) or not all(isinstance(package, dict) for package in packages):
        raise DocumentError(file, key, "expected a list of tables")
    for number, package in enumerate(packages):
        if not isinstance(package.get("name"), str):
            raise DocumentError(file, f"{key}[{number}].name", "expected a string")
    return packages


def _find_version_line(lines: list[str], first: int) -> int:
    """Find the line of a package's version, or of its name where it has none."""
    own: dict[str, int] = {}
    for number, line in enumerate(lines[first:], start=first + 1):
        if line.lstrip().startswith("["):
            break
        own.setdefault(line.partition("=")[0].strip(), number)
    return own.get("version", own.get("name", first))


def _find_source(package: dict[str, Any]) -> str:
    """Find the path or URL that a package is taken from; empty if an index is asked."""
    tables = [package, *(package.get(key) for key in ("source", "archive", "vcs", "directory"))]
    told = [table for table in tables if isinstance(table, dict) and table.get("type") != "legacy"]
    places = (table.get(key) for table in told for key in ("path", "url", "git", "directory", "editable"))
    return next((place for place in places if isinstance(place, str)), "")


def _find_marker(package: dict[str, Any]) -> str:
    """Return when it is installed: of several markers one has to hold."""
    several = package.get("resolution-markers")
    if isinstance(several, list):
        return " or ".join(f"({each})" for each in several)
    told = package.get("marker", package.get("markers", ""))
    return told if isinstance(told, str) else ""


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
    entries: list[LockEntry] = []
    of_pip: list[RequirementsFile] = []
    for item in _list_items(text, _KEY, file) or ():
        entries += _read_conda_item(item)
        lines = item.value("pip")
        of_pip += (_read_pip_item(each, file) for each in (lines.items if lines is not None else ()))
    return RequirementsFile(
        entries=(*entries, *(entry for each in of_pip for entry in each.entries)),
        includes=tuple(include for each in of_pip for include in each.includes),
        links=tuple(link for each in of_pip for link in each.links),
        findings=tuple(finding for each in of_pip for finding in each.findings),
    )


def _list_items(text: str, key: str, file: PurePath) -> tuple[YamlNode, ...] | None:
    """List the items under a key at the top of a file; None if the key is not there."""
    document = read_yaml(text, file)
    listed = document.value(key) if document is not None else None
    return listed.items if listed is not None else None


def _read_pip_item(item: YamlNode, file: PurePath) -> RequirementsFile:
    """Read what an item of the list for pip says: conda writes each on a line of a requirement file."""
    said = read_requirements(item.text, file)
    return RequirementsFile(
        entries=tuple(replace(each, line=item.line, last=item.last) for each in said.entries),
        includes=tuple((item.line, place) for _, place in said.includes),
        links=said.links,
        findings=tuple(replace(each, line=item.line) for each in said.findings),
    )


def _read_conda_item(item: YamlNode) -> Iterator[LockEntry]:
    spec = item.text.strip()
    name = name_of_spec(spec) if item.kind is YamlKind.SCALAR else ""
    if name in PROVIDERS:
        version, build = _split_bounds(bounds_of(spec))
        yield LockEntry(
            name=name, excerpt=spec, line=item.line, last=item.last, version=version, build=build, is_conda=True
        )


def _split_bounds(bounds: str) -> tuple[str, str]:
    """Return the only version that a spec ("=13.0.0=py311_0", "13.0.0 py311_0", "[build=x]") allows, and its build."""
    keyed = _BUILD_KEY.search(bounds)
    joined = _GAP.sub(r"\1", bounds.partition("[")[0])
    version, _, build = joined.strip().partition(" ")
    attached = _ATTACHED.fullmatch(version)
    if attached is not None:
        version, build = attached["version"], attached["build"]
    found = _CONDA_VERSION.fullmatch(version)
    return (found[1] if found is not None else ""), keyed[1].strip(" \"'") if keyed is not None else build.strip()


_SUBDIR = re.compile(r"/(linux-[\w-]+|osx-[\w-]+|win-[\w-]+|emscripten-[\w-]+|wasi-[\w-]+|zos-\w+|freebsd-\w+)/")


def read_pixi(text: str, file: PurePath) -> Iterator[LockEntry]:
    """Read a pixi.lock.

    Raises:
        DocumentError: it is no YAML, or lists no packages as pixi does.
    """
    for line, words in _list_packages(text, "packages", file):
        kind = words["kind"][0] if "kind" in words else next((key for key in ("conda", "pypi") if key in words), "")
        if not kind:
            raise DocumentError(file, f"line {line}", "a package from neither conda nor PyPI")
        source = next((words[each] for each in (kind, "url", "path") if each in words), ("", line))
        yield from _read_package(line, words, *source, is_conda=kind == "conda")


_READERS: dict[LockKind, Callable[[str, PurePath], RequirementsFile | Iterator[LockEntry]]] = {
    LockKind.REQUIREMENTS: read_requirements,
    LockKind.ENVIRONMENT: read_environment,
    **dict.fromkeys((LockKind.UV, LockKind.POETRY, LockKind.PDM), read_tables),
    LockKind.PYLOCK: partial(read_tables, key="packages"),
    LockKind.PIXI: read_pixi,
}


_Words = dict[str, tuple[str, int]]
"""What the keys of a package say, where those are words, each with its line."""


def _list_packages(text: str, key: str, file: PurePath) -> Iterator[tuple[int, _Words]]:
    """List the packages of a list, each with its line."""
    items = _list_items(text, key, file)
    if items is None:
        raise DocumentError(file, key, "missing at the top level of the file")
    for item in items:
        pairs = {name: pair for name, pair in item.pairs().items() if pair[1].kind is YamlKind.SCALAR}
        yield item.line, {name: (value.text, _find_key_line(key, value)) for name, (key, value) in pairs.items()}


def _find_key_line(key: YamlNode, value: YamlNode) -> int:
    """Find where a key and its value stand; those of an alias elsewhere."""
    return max(key.line, value.line) if value.line <= key.last + 1 else key.line


def _read_package(first: int, words: _Words, source: str, line: int, *, is_conda: bool) -> Iterator[LockEntry]:
    """Read a package that is taken from a source, which stands on a line."""
    told = file_name(source)
    if is_conda:
        name, version, build = conda_archive(source)
        subdir = _SUBDIR.search(source)
        machines = [each.machine for each in ARCHITECTURES if subdir is None or subdir[1] == each.conda_subdir]
    else:
        named, version = archive(source)
        name, build = normalise_locked_name(words.get("name", (named, 0))[0]), ""
        version = words.get("version", (version, 0))[0]
        told = told or f"{name} {version}"
        tags = told.removesuffix(".whl").rpartition("-")[2]  # a wheel for another machine does not count
        anywhere = not told.endswith(".whl") or tags == "any"
        machines = [each.machine for each in ARCHITECTURES if anywhere or each.wheel_platform in tags]
    if name in PROVIDERS and machines:
        yield LockEntry(
            name=name,
            excerpt=told,
            line=line,
            first=first,
            version=version,
            source=source,
            build=build,
            is_conda=is_conda,
            machine=machines[0] if len(machines) < len(ARCHITECTURES) else "",
        )
