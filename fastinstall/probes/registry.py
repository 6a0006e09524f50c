"""Which environments this user has, as far as anybody wrote it down: tools that list them, or keep them in one place.

Not a search of the disk. What is listed and gone is passed over; who lists what:

- fastinstall: `environments.txt` in its state directory, a line for each environment that was set up.
- conda: `~/.conda/environments.txt`. Source: conda's `core/envs_manager.py`.
- one directory each: pipx, uv's tools, poetry, pipenv, virtualenvwrapper, and pyenv's pyenv-virtualenv.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fastinstall.system import foreign

LIST = "environments.txt"
"""Our own list, in the state directory: one absolute prefix a line."""


def known_environments(variables: Mapping[str, str], state: Path) -> tuple[Path, ...]:
    """The prefixes that are known, each once however many paths lead to it, sorted.

    Args:
        variables: environment variables; HOME, and those by which the tools move their directories.
        state: our state directory.
    """
    listed = (*read_list(state / LIST), *_in_lists(variables), *_in_places(variables))
    prefixes = {os.path.realpath(prefix): prefix for prefix in sorted(listed, reverse=True) if _is_environment(prefix)}
    return tuple(sorted(prefixes.values()))


def read_list(file: Path) -> tuple[Path, ...]:
    """The absolute paths that a file lists, one a line; none where it cannot be read."""
    try:
        text = foreign.read_text(file, errors="surrogateescape")
    except OSError:
        return ()
    return tuple(Path(line) for line in text.splitlines() if line.startswith("/"))


def has_pillow(prefix: Path) -> bool:
    """Whether PIL lies in an environment, from its directories alone."""
    return any(True for lib in ("lib", "lib64") for _ in prefix.glob(f"{lib}/p*/site-packages/PIL"))


def _is_environment(prefix: Path) -> bool:
    return (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir()


def _in_lists(variables: Mapping[str, str]) -> Iterator[Path]:
    active = (variables.get(name, "") for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    yield from (Path(prefix) for prefix in active if prefix.startswith("/"))
    yield from read_list(_home(variables) / ".conda" / LIST)


def _in_places(variables: Mapping[str, str]) -> Iterator[Path]:
    for place in _places(variables):
        yield from _entries(place)
    pyenv = _moved(variables, "PYENV_ROOT", ".pyenv")
    for version in _entries(pyenv / "versions"):
        yield from _entries(version / "envs")


def _places(variables: Mapping[str, str]) -> Iterable[Path]:
    """Directories that hold nothing but environments. Sources: the manuals of the tools named."""
    data = _moved(variables, "XDG_DATA_HOME", ".local/share")
    cache = _moved(variables, "XDG_CACHE_HOME", ".cache")
    pipx = variables.get("PIPX_HOME")
    return (
        Path(pipx) / "venvs" if pipx else data / "pipx/venvs",
        _home(variables) / ".local/pipx/venvs",
        _moved(variables, "UV_TOOL_DIR", data / "uv/tools"),
        _moved(variables, "POETRY_VIRTUALENVS_PATH", cache / "pypoetry/virtualenvs"),
        _moved(variables, "WORKON_HOME", ".virtualenvs"),
        data / "virtualenvs",
    )


def _moved(variables: Mapping[str, str], name: str, usual: str | Path) -> Path:
    """Where a variable says, if it says an absolute path; else the usual place below the home directory."""
    told = variables.get(name, "")
    return Path(told) if told.startswith("/") else _home(variables) / usual


def _home(variables: Mapping[str, str]) -> Path:
    return Path(variables.get("HOME") or Path.home())


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []
