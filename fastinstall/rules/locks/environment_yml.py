"""Reads environment.yml, as conda, mamba and micromamba take it. Pure.

Source: conda's documentation, "Creating an environment file manually", and that of its match specs.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from fastinstall.model.locks import LockEntry
from fastinstall.model.recipe import PROVIDERS
from fastinstall.rules.conda_specs import bounds_of, name_of
from fastinstall.rules.locks.requirements import Include, Requirements, read_requirements
from fastinstall.rules.yaml_document import Kind, Node, read_yaml

_KEY = "dependencies"
_BUILD_KEY = re.compile(r"\bbuild\s*=\s*['\"]?([^'\",\]]+)")
_VERSION = re.compile(r"={0,2}(\d+\.\d+\.\d[\w.+]*)")
"""All three numbers of a version of Pillow; with fewer, conda takes them for a range."""
_ATTACHED = re.compile(r"={0,2}(?P<version>[^=<>!~]+)=(?P<build>[^=]+)")
_GAP = re.compile(r"\s*([,|]|[<>=!~]+)\s*")


def read_environment(text: str, file: PurePath) -> Requirements:
    """Read a file: what it asks of conda and, in its lists for pip, of pip.

    Raises:
        DocumentError: it is no YAML, though it speaks of dependencies.
    """
    if _KEY not in text:  # of another program, which writes YAML or something like it under the same name
        return Requirements()
    document = read_yaml(text, file)
    listed = document.value(_KEY) if document is not None else None
    items = listed.items if listed is not None else ()
    of_pip = [_of_pip(each) for item in items if (lines := item.value("pip")) is not None for each in lines.items]
    return Requirements(
        entries=(
            *(entry for item in items for entry in _of_conda(item)),
            *(entry for each in of_pip for entry in each.entries),
        ),
        includes=tuple(include for each in of_pip for include in each.includes),
        links=tuple(link for each in of_pip for link in each.links),
        refused=tuple(refused for each in of_pip for refused in each.refused),
    )


def _of_pip(item: Node) -> Requirements:
    """What an item of the list for pip says: conda writes each on a line of a requirement file."""
    said = read_requirements(item.text)
    return Requirements(
        entries=tuple(replace(each, line=item.line, first=item.line, last=item.last) for each in said.entries),
        includes=tuple(Include(place=each.place, line=item.line) for each in said.includes),
        links=said.links,
        refused=tuple(replace(each, line=item.line) for each in said.refused),
    )


def _of_conda(item: Node) -> Iterator[LockEntry]:
    spec = item.text.strip()
    name = name_of(spec) if item.kind is Kind.SCALAR else ""
    if name in PROVIDERS:
        version, build = _parts(bounds_of(spec))
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


def _parts(bounds: str) -> tuple[str, str]:
    """The one version that a spec allows, and its build string: of "=13.0.0=py311_0", "13.0.0 py311_0", "[build=x]"."""
    keyed = _BUILD_KEY.search(bounds)
    joined = _GAP.sub(r"\1", bounds.partition("[")[0])
    version, _, build = joined.strip().partition(" ")
    attached = _ATTACHED.fullmatch(version)
    if attached is not None:
        version, build = attached["version"], attached["build"]
    found = _VERSION.fullmatch(version)
    return (found[1] if found is not None else ""), keyed[1].strip(" \"'") if keyed is not None else build.strip()
