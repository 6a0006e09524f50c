"""Reads environment.yml, as conda, mamba and micromamba take it. Pure.

Source: conda's documentation, "Creating an environment file manually", and that of its match specs.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.model.locks import LockEntry
from fastinstall.rules.conda_specs import bounds_of, name_of
from fastinstall.rules.locks.names import PROVIDERS
from fastinstall.rules.locks.requirements import Include, Requirements, read_requirements, requirement
from fastinstall.rules.locks.yaml_lines import items, section, unquoted

_BUILD_KEY = re.compile(r"\bbuild\s*=\s*['\"]?([^'\",\]]+)")
_VERSION = re.compile(r"={0,2}(\d+\.\d+\.\d[\w.+]*)")
"""All three numbers of a version of Pillow; with fewer, conda takes them for a range."""
_ATTACHED = re.compile(r"={0,2}(?P<version>[^=<>!~]+)=(?P<build>[^=]+)")
_GAP = re.compile(r"\s*([,|]|[<>=!~]+)\s*")


def read_environment(text: str, file: PurePath) -> Requirements:
    """Read a file: what it asks of conda and, in its list for pip, of pip.

    Raises:
        DocumentError: a tab indents a line, or pip could not read a line of its list.
    """
    entries: list[LockEntry] = []
    includes: list[Include] = []
    links: list[str] = []
    for item in items(section(text, "dependencies", file, required=False)):
        entries += _of_conda(item.scalar, item.line)
        if "pip" not in item.keys:
            continue
        for each in items(item.below):
            if each.scalar.startswith("-"):
                options = read_requirements(each.scalar, file)
                includes += (Include(place=include.place, line=each.line) for include in options.includes)
                links += options.links
            else:
                named = requirement(each.scalar, each.line, file)
                entries += (named,) if named is not None else ()
    return Requirements(entries=tuple(entries), includes=tuple(includes), links=tuple(links))


def _of_conda(spec: str, line: int) -> Iterator[LockEntry]:
    name = name_of(spec)
    if name in PROVIDERS:
        version, build = _parts(bounds_of(spec))
        yield LockEntry(
            name=name, says=spec, line=line, first=line, last=line, version=version, build=build, is_conda=True
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
    return (found[1] if found is not None else ""), unquoted(keyed[1]) if keyed is not None else build.strip()
