"""The project that an environment belongs to: whose manifest and lock a tool makes it of."""

import os
from pathlib import Path
from typing import Any

from fastinstall.errors import UsageError
from fastinstall.journal.layout import PROJECT
from fastinstall.model.pins import LOCKS, Manager, Project
from fastinstall.system import foreign

_LONGEST_PATH, _LONGEST_NAME = 4000, 255
"""Bytes: PATH_MAX, with room for what is added, and NAME_MAX (path_resolution(7))."""

_PYPROJECT, _PIXI = "pyproject.toml", "pixi.toml"


def project_of(prefix: Path, named: Path | None = None) -> Project | None:
    """The project that an environment belongs to.

    That is the one named, else the one that holds the environment (`PROJECT/.venv`, `PROJECT/.pixi/envs/NAME`), else
    the one that the environment notes because it is pinned there, where that project says so too.

    Args:
        prefix: of the environment.
        named: the project's directory.

    Raises:
        UsageError: the one named has no manifest of a tool that we know, or a project has those of two.
        DocumentError: a manifest is not TOML.
    """
    if named is not None:
        project = _project_in(Path(os.path.normpath(named.absolute())))
        if project is None:
            raise UsageError(
                f"{named}: no project of uv, poetry, pdm or pixi: it has neither their lock nor their table",
                hint=f"make its lock first ({named}/pyproject.toml): uv lock, poetry lock or pdm lock",
            )
        return project
    for directory in (holding_directory(prefix), believed_project(prefix)):
        if directory is not None and (project := _project_in(directory)) is not None:
            return project
    return None


def holding_directory(prefix: Path) -> Path | None:
    """The directory of the project that an environment lies in, by their places alone; None for any other place."""
    if prefix.parent.name == "envs" and prefix.parent.parent.name == ".pixi":
        return prefix.parent.parent.parent
    return prefix.parent if prefix.name in (".venv", "venv") else None


def noted_project(prefix: Path) -> Path | None:
    """The directory that an environment notes as the project it is pinned in; None where no path is noted."""
    try:
        text = foreign.read_text(prefix / PROJECT, errors="surrogateescape").strip()
    except OSError:
        return None
    return Path(text) if _is_path(text) else None


def _is_path(text: str) -> bool:
    """Whether the kernel takes it, so that asking for what is there raises nothing."""
    parts = os.fsencode(text).split(b"/")
    plain = text.startswith("/") and not {"\0", "\n"} & set(text)
    return plain and len(os.fsencode(text)) < _LONGEST_PATH and max(map(len, parts)) <= _LONGEST_NAME


def believed_project(prefix: Path) -> Path | None:
    """The directory that an environment notes, where a pin of this user's is there for this very environment.

    The note lies in the environment, and whoever made that may have written any directory into it.
    """
    noted = noted_project(prefix)
    if noted is None or not noted.is_absolute():
        return None
    from fastinstall.journal.project_pin import is_pinned_for  # noqa: PLC0415 (only where something is pinned)

    return noted if is_pinned_for(noted, prefix) else None


def _project_in(directory: Path) -> Project | None:
    if (directory / _PIXI).is_file():
        return _project(directory, Manager.PIXI, _PIXI)
    if not (directory / _PYPROJECT).is_file():
        return None
    tools = _tables(directory / _PYPROJECT)
    locked = [manager for manager, lock in LOCKS.items() if (directory / lock).is_file()]
    candidates = locked or [manager for manager in Manager if manager.value in tools]
    if len(candidates) > 1:
        raise UsageError(
            f"{directory} is a project of {candidates[0]} and of {candidates[1]}: {_why(candidates, locked)}",
            hint=f"take away what is left over of one of them in {directory}",
        )
    return _project(directory, candidates[0], _PYPROJECT) if candidates else None


def _why(candidates: list[Manager], locked: list[Manager]) -> str:
    if locked:
        return f"{LOCKS[candidates[0]]} and {LOCKS[candidates[1]]} are both there"
    return f"{_PYPROJECT} has [tool.{candidates[0]}] and [tool.{candidates[1]}], and there is no lock"


def _project(directory: Path, manager: Manager, manifest: str) -> Project:
    lock = directory / LOCKS[manager]
    return Project(
        directory=directory, manager=manager, manifest=directory / manifest, lock=lock if lock.is_file() else None
    )


def _tables(manifest: Path) -> dict[str, Any]:
    tool = foreign.read_toml(manifest).get("tool", {})
    return tool if isinstance(tool, dict) else {}
