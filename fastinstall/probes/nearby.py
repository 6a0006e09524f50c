"""Environments of the working directory and of the project that it lies in, by their places alone; nothing is run.

Not those that a tool lists for the whole user: `registry` has these.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pixi.toml", ".git")
_ENTRIES = 300
_ABOVE = 4


def nearby_environments(directory: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Environments that lie in a directory, and in the project around it, the nearest first, each once.

    Args:
        directory: where the person is.
        variables: UV_PROJECT_ENVIRONMENT moves the environment of a uv project. Source: uv's reference of variables.
    """
    found: dict[str, Path] = {}
    for place in _places(directory.absolute(), Path(variables.get("HOME") or Path.home())):
        for prefix in _inside(place, variables):
            if is_environment(prefix):
                found.setdefault(os.path.realpath(prefix), prefix)
    return tuple(found.values())


def is_environment(prefix: Path) -> bool:
    """Whether a directory is a virtual environment (PEP 405) or one of conda's."""
    try:
        return (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir()
    except OSError:
        return False


def _places(directory: Path, home: Path) -> Iterator[Path]:
    """The directory, and those above it up to the one that holds the project."""
    yield directory
    above = [each for each in directory.parents if each not in (home, home.parent, Path("/"))][:_ABOVE]
    root = next((each for each in above if any((each / name).exists() for name in _PROJECT_FILES)), None)
    if root is not None:
        yield root


def _inside(place: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    moved = variables.get("UV_PROJECT_ENVIRONMENT")
    if moved:
        yield place / moved
    yield from _entries(place)
    yield from _entries(place / ".pixi" / "envs")


def _entries(place: Path) -> list[Path]:
    """Directories inside, sorted; of a huge place the first that the kernel names."""
    try:
        with os.scandir(place) as entries:
            some = [Path(entry.path) for entry, _ in zip(entries, range(_ENTRIES), strict=False) if entry.is_dir()]
    except OSError:
        return []
    return sorted(some)
