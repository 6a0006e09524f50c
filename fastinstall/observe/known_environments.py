"""This user's environments that tools list or keep in known places.

This neither searches the disk nor asks interpreters. Listed environments that are gone are skipped. Sources:

- fastinstall: `environments.txt` in its state directory, one line for each environment that was set up, written here
  for `doctor --all`.
- conda: `~/.conda/environments.txt`. Source: conda's `core/envs_manager.py`.
- one directory each: pipx, uv's tools, poetry, pipenv, virtualenvwrapper, and pyenv's pyenv-virtualenv.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.files import append_line
from fastinstall.core.home import find_home
from fastinstall.core.surroundings import make_private
from fastinstall.model.facts import Environment
from fastinstall.observe.active_environment import is_environment
from fastinstall.observe.session import Session

_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
LIST = "environments.txt"
"""Our own list, in the state directory: one absolute prefix per line."""


def list_known_environments(variables: Mapping[str, str], state: Path) -> tuple[Path, ...]:
    """Return the known prefixes, sorted, each once even if several paths lead to it.

    Args:
        variables: environment variables; HOME, and those that move the tools' directories.
    """
    listed = [*read_list(state / LIST), *read_list(find_home(variables) / ".conda" / LIST)]
    listed += [Path(variables[name]) for name in _ACTIVE if variables.get(name, "").startswith("/")]
    for place in _list_known_places(variables):
        listed += [place / name for name in foreign.list_names(place)]
    prefixes = {os.path.realpath(prefix): prefix for prefix in sorted(listed, reverse=True) if is_environment(prefix)}
    return tuple(sorted(prefixes.values()))


def read_list(file: Path) -> tuple[Path, ...]:
    """Return the absolute paths that a file lists, one per line; none if it cannot be read."""
    lines = foreign.text_or_empty(file, errors="surrogateescape").splitlines()
    return tuple(Path(line) for line in lines if line.startswith("/"))


def _list_known_places(variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield directories that contain only environments. Sources: the manuals of the tools named."""
    home = find_home(variables)

    def find(name: str, usual: Path) -> Path:
        """Return the absolute path from a variable, else the usual place."""
        told = variables.get(name, "")
        return Path(told) if told.startswith("/") else usual

    data, cache = find("XDG_DATA_HOME", home / ".local/share"), find("XDG_CACHE_HOME", home / ".cache")
    pipx = variables.get("PIPX_HOME")
    yield Path(pipx) / "venvs" if pipx else data / "pipx/venvs"
    yield home / ".local/pipx/venvs"
    yield find("UV_TOOL_DIR", data / "uv/tools")
    yield find("POETRY_VIRTUALENVS_PATH", cache / "pypoetry/virtualenvs")
    yield find("WORKON_HOME", home / ".virtualenvs")
    yield data / "virtualenvs"
    versions = find("PYENV_ROOT", home / ".pyenv") / "versions"
    yield from (versions / name / "envs" for name in foreign.list_names(versions))


def remember_environment(session: Session, environment: Environment) -> None:
    """Add an environment to our list, once; a failure to write is ignored."""
    file, prefix = session.directories.state / LIST, Path(environment.prefix)
    if prefix in read_list(file) or "\n" in str(prefix):
        return
    with contextlib.suppress(OSError, UnicodeEncodeError):
        make_private(file.parent)
        append_line(file, str(prefix))
