"""List this user's environments: those that tools list, in known places, or near the working directory.

This neither searches the disk nor asks interpreters. Listed environments that are gone are skipped. Sources:

- fastinstall: `environments.txt` in its state directory, one line for each environment that was set up, written here
  for `doctor --all`.
- conda: `~/.conda/environments.txt`. Source: conda's `core/envs_manager.py`.
- one directory each: pipx, uv's tools, poetry, pipenv, virtualenvwrapper, and pyenv's pyenv-virtualenv.
- the working directory and its project, by place alone.

A summary shows an environment's Python and Pillow from file names and one small file. It is not a fact: no file
content is checked.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError
from fastinstall.core.files import append_line
from fastinstall.core.home import find_home
from fastinstall.core.surroundings import make_private
from fastinstall.core.values import immutable
from fastinstall.journal.receipt_file import receipt_data
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.observe.active_environment import is_environment, kind_of_prefix
from fastinstall.observe.session import Session

_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
LIST = "environments.txt"
"""Our own list, in the state directory: one absolute prefix per line."""


def list_known_environments(variables: Mapping[str, str], state: Path) -> tuple[Path, ...]:
    """Return the known prefixes, sorted, each once even if several paths lead to it.

    Args:
        variables: environment variables; HOME, and those that move the tools' directories.
        state: our state directory.
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


def has_pillow(prefix: Path) -> bool:
    """Return whether PIL is in an environment, from its directories alone."""
    return any(True for lib in ("lib", "lib64") for _ in prefix.glob(f"{lib}/p*/site-packages/PIL"))


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


_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pixi.toml", ".git")
_ENTRIES = 300
_ABOVE = 4


def nearby_environments(directory: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Return environments in a directory and in the project around it, the nearest first, each once.

    Args:
        directory: the working directory.
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


_OWNER = re.compile(r"(?P<name>pillow(?:[-_.]simd)?|pil)-(?P<version>[^-]+)\.dist-info", re.IGNORECASE)
_CONDA_PYTHON = re.compile(r"python-(?P<version>\d[\d.]*)-[^-]+\.json")
_SITE = ("lib/python*/site-packages", "lib64/python*/site-packages")


@immutable
class EnvironmentSummary:
    """An environment, seen from outside.

    Attributes:
        prefix: its directory.
        kind: who manages it.
        python: version of its interpreter; empty if unknown.
        pillow: distributions that say they are Pillow ("pillow 13.0.0"), sorted; empty if none.
        ours: what fastinstall set up there ("pillow 13.0.0+simd.v2.v3"); empty if nothing.
    """

    prefix: Path
    kind: EnvironmentKind
    python: str = ""
    pillow: tuple[str, ...] = ()
    ours: str = ""

    @property
    def is_replaced(self) -> bool:
        """Whether something else replaced what fastinstall set up."""
        return bool(self.ours) and self.ours not in self.pillow


def scan_environment(prefix: Path) -> EnvironmentSummary:
    """Return a summary of an environment; unreadable parts are left empty."""
    lines = foreign.text_or_empty(prefix / "pyvenv.cfg").splitlines()
    pairs = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    told = pairs.get("version") or pairs.get("version_info", "")  # from `venv`; from virtualenv and uv
    records = filter(None, map(_CONDA_PYTHON.fullmatch, foreign.list_names(prefix / "conda-meta")))
    sites = [site for pattern in _SITE for site in prefix.glob(pattern)]
    owners = [found for site in sites for found in map(_OWNER.fullmatch, foreign.list_names(site)) if found]
    data: dict[str, str] = {}
    with contextlib.suppress(DocumentError):
        data = receipt_data(prefix) or {}
    ours = data.get("distribution") and data.get("version") and f"{data['distribution']} {data['version']}"
    return EnvironmentSummary(
        prefix=prefix,
        kind=kind_of_prefix(prefix),
        python=".".join(told.split(".")[:3]) or next((match["version"] for match in records), ""),
        pillow=tuple(sorted({f"{each['name'].lower().replace('_', '-')} {each['version']}" for each in owners})),
        ours=ours or "",
    )


def remember(session: Session, environment: Environment) -> None:
    """Add an environment to our list, once; a failure to write is ignored."""
    file, prefix = session.directories.state / LIST, Path(environment.prefix)
    if prefix in read_list(file) or "\n" in str(prefix):
        return
    with contextlib.suppress(OSError, UnicodeEncodeError):
        make_private(file.parent)
        append_line(file, str(prefix))
