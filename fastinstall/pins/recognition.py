"""Find the project that an environment belongs to, and read its pin from the manifest and the lock file.

If no pin is found, the search costs a few stat calls and, if there is a project, reading its manifest and the receipt.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import FastinstallError, UsageError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.guards import PinState, Project

_PYPROJECT = "pyproject.toml"
_MANIFESTS = (_PYPROJECT, "pixi.toml", "hatch.toml")


def project_of(prefix: Path, named: Path | None = None) -> Project | None:
    """Return the project that an environment belongs to, or None if it belongs to none.

    This is the project that the user named, or else the project that contains the environment (`PROJECT/.venv`,
    `PROJECT/.pixi/envs/NAME`).

    Args:
        prefix: prefix of the environment.
        named: a directory that the user named as the project; None to look for one.

    Raises:
        UsageError: the named directory has no manifest of a supported tool, or a project has signs of two tools.
        DocumentError: a manifest is not TOML.
    """
    if named is not None:
        project = _find_project(Path(os.path.normpath(named.absolute())))
        if project is None:
            raise UsageError(
                f"{named}: not a project of uv, Poetry, PDM, pixi or hatch: it has none of their lock files or tables",
                hint=f"create its lock file first: cd {quote(named)} && uv lock",
            )
        return project
    directory = find_project_directory(prefix)
    return _find_project(directory) if directory is not None else None


def find_project_directory(prefix: Path) -> Path | None:
    """Return the directory that contains an environment as `.venv`, `venv` or `.pixi/envs/*`; None for other paths."""
    if prefix.parent.name == "envs" and prefix.parent.parent.name == ".pixi":
        return prefix.parent.parent.parent
    return prefix.parent if prefix.name in (".venv", "venv") else None


def _find_project(directory: Path) -> Project | None:
    from fastinstall.pins.tools import TOOLS  # needed only if there may be a project

    names = {name for tool in TOOLS.values() for name in (*tool.manifests, tool.lock)}
    there = frozenset(name for name in names if (directory / name).is_file())
    tables = foreign.read_toml(directory / _PYPROJECT).get("tool") if _PYPROJECT in there else None
    known = [tool for tool in TOOLS.values() if there.intersection(tool.manifests)]
    ranks = {tool.name: tool.rank_signs(there, tables if isinstance(tables, dict) else {}) for tool in known}
    strongest = max(ranks.values(), default=0)
    tool, *others = [tool for tool in known if strongest and ranks[tool.name] == strongest] or (None,)
    if tool is None:
        return None
    if others:
        raise UsageError(
            f"{directory} is a project of {tool.name} and of {others[0].name}, by lock files or tables of both",
            hint=f"remove what is left of one of them in {directory}",
        )
    return Project(
        directory=directory,
        manager=tool.name,
        manifest=directory / next(name for name in tool.manifests if name in there),
        lock=directory / tool.lock if tool.lock in there else None,
        sync=tool.sync,
    )


def read_project_pin(prefix: Path, named: Path | None = None) -> PinState | None:
    """Return the pin in a project's manifest, or None if it pins no build of fastinstall.

    Args:
        prefix: prefix of the environment whose stack the project should pin. A pin to another build is returned with
            `problems`.
        named: the project's directory; None for the project that the environment belongs to.
    """
    directory = named or find_project_directory(prefix) or prefix
    if not any((directory / name).is_file() for name in _MANIFESTS):
        return None
    from fastinstall.pins.tools import TOOLS  # needed only if there is a project

    try:
        project = project_of(prefix, named)
        receipt = json_data(foreign.read_bytes(prefix / RECEIPT))
        name, version = str(receipt["distribution"]), str(receipt["version"])
    except (FastinstallError, OSError, ValueError, LookupError, TypeError):  # reported by `guard pin`, not here
        return None
    text = foreign.text_or_empty(Path(project.manifest)) if project is not None else ""
    pinned = TOOLS[project.manager].find_pinned(text) if project is not None else ""
    if project is None or not pinned:
        return None
    is_version = "+" in pinned  # a build without "+" is a conda build string, which fits any version
    problems = tuple(_find_problems(prefix, project, pinned, f"{name}=={version}")) if is_version else ()
    requirement = f"{name}=={pinned}" if is_version else f"{name} * {pinned}"
    return PinState(kind=project.manager, file=project.manifest, requirement=requirement, problems=problems)


def _find_problems(prefix: Path, project: Project, pinned: str, installed: str) -> Iterator[str]:
    if pinned != installed.rpartition("==")[2]:
        yield f"{prefix} has {installed}"
    if project.lock is not None and f'version = "{pinned}"' not in foreign.text_or_empty(Path(project.lock)):
        yield f"{project.lock.name} does not hold it"
