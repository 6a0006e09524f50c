"""Environments in the working directory and its project, by place alone."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.core.home import find_home
from fastinstall.observe.active_environment import is_environment

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pixi.toml", ".git")


_ENTRIES = 300


_ABOVE = 4


def nearby_environments(directory: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Return environments in a directory and in the project around it, the nearest first, each once.

    Args:
        variables: UV_PROJECT_ENVIRONMENT moves the environment of a uv project. Source: uv's reference of variables.
    """
    found: dict[str, Path] = {}
    moved = variables.get("UV_PROJECT_ENVIRONMENT")
    for place in _list_nearby_places(directory.absolute(), find_home(variables)):
        named = [place / moved] if moved else []
        for prefix in (*named, *_list_entries(place), *_list_entries(place / ".pixi" / "envs")):
            if is_environment(prefix):
                found.setdefault(os.path.realpath(prefix), prefix)
    return tuple(found.values())


def _list_nearby_places(directory: Path, home: Path) -> Iterator[Path]:
    """Yield the directory, and those above it up to the project's."""
    yield directory
    above = [each for each in directory.parents if each not in (home, home.parent, Path("/"))][:_ABOVE]
    root = next((each for each in above if any((each / name).exists() for name in _PROJECT_FILES)), None)
    if root is not None:
        yield root


def _list_entries(place: Path) -> list[Path]:
    """List directories inside, sorted; in a huge place, the first that the kernel names."""
    try:
        with os.scandir(place) as entries:
            some = [Path(entry.path) for entry, _ in zip(entries, range(_ENTRIES), strict=False) if entry.is_dir()]
    except OSError:
        return []
    return sorted(some)
