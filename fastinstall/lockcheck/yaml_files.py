"""Read conda's environment files and pixi's lock files. Pure.

- environment.yml, as read by conda, mamba and micromamba. Source: conda's documentation, "Creating an environment file
  manually", and its documentation of match specs.
- pixi.lock, without entries for systems other than Linux. Source: files of versions 5 to 7 that pixi wrote.

PyYAML's nodes are used directly, not converted to Python values: a node has its line, every scalar stays text, and an
alias is the aliased node, not a copy.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

import yaml

from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.errors import DocumentError
from fastinstall.core.version_numbers import normalise_distribution_name
from fastinstall.lockcheck.lock_names import archive, conda_archive, file_name
from fastinstall.lockcheck.requirement_files import RequirementsFile, read_requirements
from fastinstall.lockcheck.verdict import LockEntry
from fastinstall.model.dependants import bounds_of, name_of_spec
from fastinstall.model.recipe import PROVIDERS

_DEPTH = 64
_KEY = "dependencies"
_BUILD_KEY = re.compile(r"\bbuild\s*=\s*['\"]?([^'\",\]]+)")
_CONDA_VERSION = re.compile(r"={0,2}(\d+\.\d+\.\d[\w.+]*)")
"""Matches an exact version, with all three numbers; conda takes fewer numbers as a range."""
_ATTACHED = re.compile(r"={0,2}(?P<version>[^=<>!~]+)=(?P<build>[^=]+)")
_GAP = re.compile(r"\s*([,|]|[<>=!~]+)\s*")


def read_environment(text: str, file: PurePath) -> RequirementsFile:
    """Read an environment file: its conda packages, and the requirements in its lists for pip.

    Raises:
        DocumentError: the file contains the word "dependencies", but is not YAML.
    """
    if _KEY not in text:  # a file of another program under the same name, perhaps not YAML
        return RequirementsFile()
    entries: list[LockEntry] = []
    of_pip: list[RequirementsFile] = []
    for item in _list_items(text, _KEY, file) or ():
        entries += _read_conda_item(item)
        _, lines = _read_pairs(item).get("pip", (None, None))
        of_pip += (_read_pip_item(each, file) for each in _get_elements(lines))
    return RequirementsFile(
        entries=(*entries, *(entry for each in of_pip for entry in each.entries)),
        includes=tuple(include for each in of_pip for include in each.includes),
        links=tuple(link for each in of_pip for link in each.links),
        findings=tuple(finding for each in of_pip for finding in each.findings),
    )


def _read_conda_item(item: yaml.Node) -> Iterator[LockEntry]:
    spec = _get_text(item).strip()
    name = name_of_spec(spec)
    if name in PROVIDERS:
        version, build = _split_bounds(bounds_of(spec))
        first, last = _first_line(item), _last_line(item)
        yield LockEntry(name=name, excerpt=spec, line=first, last=last, version=version, build=build, is_conda=True)


def _split_bounds(bounds: str) -> tuple[str, str]:
    """Return the exact version and the build in a spec ("=13.0.0=py311_0", "13.0.0 py311_0"); empty if not given."""
    keyed = _BUILD_KEY.search(bounds)
    joined = _GAP.sub(r"\1", bounds.partition("[")[0])
    version, _, build = joined.strip().partition(" ")
    attached = _ATTACHED.fullmatch(version)
    if attached is not None:
        version, build = attached["version"], attached["build"]
    found = _CONDA_VERSION.fullmatch(version)
    return (found[1] if found is not None else ""), keyed[1].strip(" \"'") if keyed is not None else build.strip()


def _read_pip_item(item: yaml.Node, file: PurePath) -> RequirementsFile:
    """Read an item of a list for pip; an item has the syntax of a line in a requirements file."""
    said, line = read_requirements(_get_text(item), file), _first_line(item)
    return RequirementsFile(
        entries=tuple(replace(each, line=line, last=_last_line(item)) for each in said.entries),
        includes=tuple((line, place) for _, place in said.includes),
        links=said.links,
        findings=tuple(replace(each, line=line) for each in said.findings),
    )


_SUBDIR = re.compile(r"/(linux-[\w-]+|osx-[\w-]+|win-[\w-]+|emscripten-[\w-]+|wasi-[\w-]+|zos-\w+|freebsd-\w+)/")


def read_pixi(text: str, file: PurePath) -> Iterator[LockEntry]:
    """Yield the entries for PIL in a pixi.lock; `file` is its path, for errors.

    Raises:
        DocumentError: the file is not YAML, or has no list of packages in pixi's format.
    """
    packages = _list_items(text, "packages", file)
    if packages is None:
        raise DocumentError(file, "packages", "missing at the top level of the file")
    for package in packages:
        line = _first_line(package)
        words = {
            name: (_get_text(value), _find_key_line(key, value))
            for name, (key, value) in _read_pairs(package).items()
            if isinstance(value, yaml.ScalarNode)
        }
        kind = words["kind"][0] if "kind" in words else next((key for key in ("conda", "pypi") if key in words), "")
        if not kind:
            raise DocumentError(file, f"line {line}", "a package from neither conda nor PyPI")
        source = next((words[each] for each in (kind, "url", "path") if each in words), ("", line))
        yield from _read_package(line, words, *source, is_conda=kind == "conda")


def _find_key_line(key: yaml.Node, value: yaml.Node) -> int:
    """Return the line of a key's value, or of the key itself if the value is an alias of a node on another line."""
    first, line = _first_line(key), _first_line(value)
    return max(first, line) if line <= _last_line(key) + 1 else first


def _read_package(
    first: int, words: dict[str, tuple[str, int]], source: str, line: int, *, is_conda: bool
) -> Iterator[LockEntry]:
    """Yield an entry for a package if it provides PIL and is for Linux.

    Args:
        first: the first line of the package.
        words: value and line of each key of the package.
        source: path or URL of the package.
        line: the line of the source.
    """
    told = file_name(source)
    if is_conda:
        name, version, build = conda_archive(source)
        subdir = _SUBDIR.search(source)
        machines = [each.machine for each in ARCHITECTURES if subdir is None or subdir[1] == each.conda_subdir]
    else:
        named, version = archive(source)
        name, build = normalise_distribution_name(words.get("name", (named, 0))[0]), ""
        version = words.get("version", (version, 0))[0]
        told = told or f"{name} {version}"
        tags = told.removesuffix(".whl").rpartition("-")[2]  # wheels for other architectures are ignored
        anywhere = not told.endswith(".whl") or tags == "any"
        machines = [each.machine for each in ARCHITECTURES if anywhere or each.machine in tags]
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


def _list_items(text: str, key: str, file: PurePath) -> list[yaml.Node] | None:
    """Return the items of the list under a top-level key; None if the key is missing."""
    _, listed = _read_pairs(_compose(text, file)).get(key, (None, None))
    return _get_elements(listed) if listed is not None else None


def _compose(text: str, file: PurePath) -> yaml.Node | None:
    """Return the root node of a document; None if the document is empty.

    Raises:
        DocumentError: the text is not YAML, has several documents, or is nested too deep; the error has the line.
    """
    loader, depth = getattr(yaml, "CSafeLoader", yaml.SafeLoader), 0
    try:
        for event in yaml.parse(text, Loader=loader):  # libyaml's composer does not limit the depth of nesting
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEPTH:
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise DocumentError(file, f"line {line}", f"nested deeper than {_DEPTH} levels")
        return yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: the text has a lone surrogate, which cannot be encoded
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable"
        raise DocumentError(file, f"line {mark.line + 1}" if mark else "", f"not YAML: {problem}") from None


def _read_pairs(node: yaml.Node | None) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """Return key node and value node of each entry of a mapping, by key; own keys override those merged by "<<"."""
    pairs = _read_own_pairs(node)
    _, merged = pairs.pop("<<", (None, None))
    for each in [merged, *_get_elements(merged)]:
        pairs = _read_own_pairs(each) | pairs
    return pairs


def _read_own_pairs(node: yaml.Node | None) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    entries = node.value if isinstance(node, yaml.MappingNode) else ()
    return {key.value: (key, value) for key, value in entries if isinstance(key, yaml.ScalarNode)}


def _get_elements(node: yaml.Node | None) -> list[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _get_text(node: yaml.Node) -> str:
    return node.value if isinstance(node, yaml.ScalarNode) else ""


def _first_line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _last_line(node: yaml.Node) -> int:
    """Return the last line of a scalar; the end mark of a block scalar is at the start of the next line."""
    first, end = node.start_mark.line, node.end_mark
    return end.line + 1 - (end.column == 0 and end.line > first)
