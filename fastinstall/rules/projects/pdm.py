"""How a project of pdm is pinned: an override, and a source of the kind `find_links`. Pure.

pdm locks one version of each distribution for all platforms and Pythons of the project, and knows neither constraints
nor overrides with markers: a project pinned so can be installed where our wheel runs, and nowhere else. An override
also hides who asks for another Pillow, so that is looked for here.
"""

from collections.abc import Iterator
from typing import Any

from fastinstall.errors import RefusedError
from fastinstall.model.parsing import toml_data
from fastinstall.rules.projects.additions import Addition, Element, Setting, table_at
from fastinstall.rules.projects.build import WHEELS, PinnedBuild
from fastinstall.rules.projects.names import named_in

_OVERRIDES = ("tool", "pdm", "resolution", "overrides")
_SOURCES = ("tool", "pdm", "source")
_NAME = "fastinstall"


def additions(build: PinnedBuild) -> tuple[Addition, ...]:
    """What pyproject.toml has to say."""
    url = f"file:///${{PROJECT_ROOT}}/{WHEELS}"  # pdm's own way to say where the project is
    return (
        Setting(table=_OVERRIDES, key=build.name, literal=f'"=={build.version}"'),
        Element(table=_SOURCES, literals={"name": f'"{_NAME}"', "type": '"find_links"', "url": f'"{url}"'}),
    )


def foreign(content: dict[str, Any], name: str) -> Iterator[str]:
    """What of others decides on the distribution in pyproject.toml already, each with its place."""
    for key, value in (table_at(content, _OVERRIDES) or {}).items():
        if named_in(key) == name:
            yield f"[tool.pdm.resolution.overrides] has {key} = {value!r}"
    for key in table_at(content, ("tool", "pdm", "resolution", "excludes")) or ():
        if named_in(key) == name:
            yield f"[tool.pdm.resolution] excludes {key!r}"
    for source in table_at(content, _SOURCES) or ():
        if isinstance(source, dict) and source.get("name") == _NAME:
            yield f"[[tool.pdm.source]] has one of the name {_NAME!r}"


def refuse_forbidden(manifest: str, lock: str, build: PinnedBuild) -> None:
    """Raise where the project, or something in its lock, asks for a version that the build is not.

    Args:
        manifest: pyproject.toml.
        lock: pdm.lock without the pin.
        build: ours.

    Raises:
        RefusedError: says who asks for what.
    """
    requiring = [("the project", each) for each in table_at(toml_data(manifest), ("project", "dependencies")) or ()]
    for package in toml_data(lock).get("package", ()):
        requiring += [(package["name"], each) for each in package.get("dependencies", ())]
    against = [f"{who} requires {what!r}" for who, what in requiring if _excludes(what, build)]
    if against:
        raise RefusedError(
            f"{against[0]}, which {build.version} is not; nothing was changed",
            hint="bring a build that fits: fastinstall setup --pin --version VERSION; or give up that bound",
            details=tuple(against[1:]),
        )


def _excludes(requirement: str, build: PinnedBuild) -> bool:
    if named_in(requirement) != build.name:
        return False
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (only where a pin is made)

    try:
        return not Requirement(requirement).specifier.contains(build.version, prereleases=True)
    except InvalidRequirement:
        return False  # pdm has read it: what it means is up to pdm
