"""Find environments: the target, those nearby, and those that this user's tools have created.

The target is the environment that the user names, or else the one that is active in the shell. Whether the target may
be changed (PEP 668, frozen) is decided by the plan. Other environments are found, by file names alone, in the lists and
directories below. No other directories are searched, and no interpreter is run. Listed environments that no longer
exist are skipped.

- fastinstall: `environments.txt` in the state directory, with one line for each environment that was set up; this
  module writes it for `doctor --all`.
- conda: `~/.conda/environments.txt`. Source: conda's `core/envs_manager.py`.
- pipx, uv's tools, poetry, pipenv, virtualenvwrapper and pyenv-virtualenv: each tool's directory of environments.
"""

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.directories import find_home
from fastinstall.core.errors import DocumentError, NoEnvironmentError, RefusedError, UndeterminedError, UsageError
from fastinstall.core.events import Noted
from fastinstall.core.files import append_line
from fastinstall.core.messages import quote
from fastinstall.core.surroundings import make_private
from fastinstall.core.values import immutable
from fastinstall.journal.layout import is_journaled
from fastinstall.journal.receipt_file import receipt_data
from fastinstall.model.facts import Environment, EnvironmentKind
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.session import Session

_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
_CONDA_ITSELF = re.compile(r"conda-\d.*\.json")
"""Matches the file name of the record of the package `conda`, which only conda's base has."""
_NAMES = ("bin/python", "bin/python3")
USUAL_NAMES = ("fast-env", ".venv", "venv", "env")
"""Usual names of a project's environment, the likeliest first."""

_NAME_ONE = "name the environment with --prefix DIR"


def locate(prefix: Path | None, python: Path | None, variables: Mapping[str, str], tool_prefix: Path) -> Environment:
    """Return the environment that `--prefix` or `--python` names, or else the one that is active in the shell.

    Relative paths are resolved in the working directory. Symbolic links are kept, because the path of a virtual
    environment's interpreter identifies the environment.

    Args:
        prefix: the value of `--prefix`; None if it is not given.
        python: the value of `--python`; None if it is not given.
        variables: the environment variables of the shell.
        tool_prefix: `sys.prefix` of fastinstall itself, which is never the target.

    Raises:
        UndeterminedError: the named directory is not an environment, or the interpreter does not answer.
        RefusedError: no environment is named or active, two different ones are active, or the target would be the
            tool's own environment.
        UsageError: `--prefix` and `--python` name different environments.
    """
    if python is not None:
        found = _observe_interpreter_environment(make_absolute(python))
        if prefix is not None and not _is_same_path(found.prefix, prefix):
            raise UsageError(
                f"--prefix {prefix} and --python {python} disagree: that interpreter belongs to {found.prefix}",
                hint="pass only one of them",
            )
    else:
        found = _observe_prefix(make_absolute(prefix) if prefix is not None else _find_active_prefix(variables))
    if _is_same_path(found.prefix, tool_prefix):
        raise RefusedError(
            f"{found.prefix}: fastinstall itself runs in this environment and never changes it",
            hint=f"{_NAME_ONE}, or create one: fastinstall setup --new-env DIR",
        )
    return found


def make_absolute(path: Path) -> Path:
    """Return a path as an absolute path without `..`, which is the form in which interpreters report their prefix.

    Symbolic links are kept, except a link that is followed by `..`: there, `..` means the parent of the link's target.
    """
    absolute = path.absolute()
    if ".." not in absolute.parts:
        return absolute
    plain = Path(os.path.normpath(absolute))
    if _is_same_path(plain, absolute):
        return plain
    name = "" if absolute.name == ".." else absolute.name  # do not resolve a link at the end, such as an interpreter
    return Path(os.path.realpath(absolute.parent if name else absolute), name)


def active_prefixes(variables: Mapping[str, str]) -> dict[str, PurePath]:
    """Return the prefixes of active environments, by the names of the shell's variables that contain them.

    Conda's base is left out if a virtual environment is also active: the user need not have chosen base, because
    conda's installers configure every shell to activate it.
    """
    active = {name: PurePath(variables[name]) for name in _ACTIVE if variables.get(name)}
    base = find_base_below(variables)
    return {name: prefix for name, prefix in active.items() if base is None or prefix != base}


def find_base_below(variables: Mapping[str, str]) -> PurePath | None:
    """Return the prefix of conda's base if it is active together with a virtual environment, else None."""
    environment, conda = (variables.get(name) for name in _ACTIVE)
    if not environment or not conda or _is_same_path(Path(environment), Path(conda)):
        return None
    records = foreign.list_names(Path(conda, "conda-meta"))
    return PurePath(conda) if any(_CONDA_ITSELF.fullmatch(name) for name in records) else None


def kind_of_prefix(prefix: Path) -> EnvironmentKind:
    """Return the kind of an environment: conda if it has `conda-meta/`, venv if `pyvenv.cfg` (PEP 405), else system."""
    if (prefix / "conda-meta").is_dir():
        return EnvironmentKind.CONDA
    if (prefix / "pyvenv.cfg").is_file():
        return EnvironmentKind.VENV
    return EnvironmentKind.SYSTEM


def is_environment(prefix: Path) -> bool:
    """Return whether a directory is a virtual environment (PEP 405) or a conda environment."""
    try:
        return kind_of_prefix(prefix) is not EnvironmentKind.SYSTEM
    except OSError:
        return False


def is_made_by_uv(prefix: Path) -> bool:
    """Return whether uv created a virtual environment: then the key "uv" is in its pyvenv.cfg ("uv = 0.9.1")."""
    return "uv" in _read_pyvenv(prefix)


def _read_pyvenv(prefix: Path) -> dict[str, str]:
    lines = foreign.text_or_empty(prefix / "pyvenv.cfg").splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}


def _observe_prefix(prefix: Path) -> Environment:
    with _explain_unreadable(prefix):
        if not prefix.is_dir():
            if os.path.lexists(prefix):
                raise UndeterminedError(f"{prefix}: not a directory", hint=_NAME_ONE)
            new = f"fastinstall setup --new-env {quote(prefix)}"
            raise UndeterminedError(f"{prefix}: no such directory", hint=f"{_NAME_ONE}, or create one: {new}")
        python = next((prefix / name for name in _NAMES if _is_there(prefix / name)), None)
    if python is None and is_journaled(prefix):
        # Return a path at which no file exists: rollback needs no Python, and other commands report the missing file.
        python = prefix / _NAMES[0]
    if python is None:
        raise UndeterminedError(
            f"{prefix}: not a Python environment: it has neither bin/python nor bin/python3",
            hint=f"{_NAME_ONE}, or create one: fastinstall setup --new-env DIR",
        )
    return Environment(prefix=prefix, kind=kind_of_prefix(prefix), python=python)


def _is_there(file: Path) -> bool:
    """Return whether a file exists.

    Raises:
        OSError: this user may not read the file's directory.
    """
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@contextmanager
def _explain_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        from fastinstall.core.refused_writes import advice, reason  # needed only for an error

        hint = f"{advice(error, path)}; or {_NAME_ONE}"
        raise UndeterminedError(reason(error, path), hint=hint) from error


def _observe_interpreter_environment(python: Path) -> Environment:
    """Return the environment of an interpreter. The interpreter is run only if its prefix has no `pyvenv.cfg`."""
    prefix = python.parent.parent
    with _explain_unreadable(python):
        if python.is_file() and (prefix / "pyvenv.cfg").is_file():
            return Environment(prefix=prefix, kind=kind_of_prefix(prefix), python=python)
    answer = observe_interpreter(python)
    return Environment(prefix=answer.prefix, kind=kind_of_prefix(Path(answer.prefix)), python=answer.executable)


def _find_active_prefix(variables: Mapping[str, str]) -> Path:
    active = active_prefixes(variables)
    if not active:
        raise NoEnvironmentError(tuple(f"./{name}" for name in USUAL_NAMES if is_environment(Path(name))))
    first, *others = (Path(path) for path in active.values())
    if any(not _is_same_path(first, other) for other in others):
        shown = " but ".join(f"{name} is {path}" for name, path in active.items())
        raise RefusedError(
            f"two environments are active: {shown}",
            hint="choose one: " + " or ".join(f"--prefix '{path}'" for path in active.values()),
        )
    return make_absolute(first)


def _is_same_path(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


@immutable
class NamedTarget:
    """The target as named on the command line.

    Attributes:
        prefix: an environment's directory; None if not given.
        python: an interpreter; None if not given.
        new: the directory of a virtual environment to create; None if not given. The new environment's interpreter is
            `python` or, if that is None, the one that created fastinstall's own environment.
        machine: the architecture to build a wheel for, as in `uname -m`; empty for this machine's architecture.
    """

    prefix: Path | None = None
    python: Path | None = None
    new: Path | None = None
    machine: str = ""


def find_environment(session: Session, target: NamedTarget) -> Environment:
    """Return the existing environment that the user has named or activated.

    Raises:
        RefusedError: no environment is named or active, two different ones are active, or the target would be the
            tool's own environment.
        UndeterminedError: the named directory is not an environment, or the interpreter does not answer.
        UsageError: `--prefix` and `--python` name different environments.
    """
    found = locate(target.prefix, target.python, session.variables, session.tool_prefix)
    base = find_base_below(session.variables)
    if base is not None and target.prefix is None and target.python is None:
        session.emit(Noted(message=f"two environments are active: {found.prefix} is taken, conda's base is not"))
    return found


def is_active_elsewhere(session: Session) -> bool:
    """Return whether an environment other than the tool's own is active in the shell.

    If none is active and the user names none, `fastinstall build` builds for `base_python`.
    """
    own = os.path.realpath(session.tool_prefix)
    return any(os.path.realpath(prefix) != own for prefix in active_prefixes(session.variables).values())


def base_python() -> Path:
    """Return the interpreter that created the tool's own environment."""
    return Path(getattr(sys, "_base_executable", "") or sys.executable)


LIST = "environments.txt"
"""Name of fastinstall's list of environments and of conda's: one absolute prefix per line."""


def list_known_environments(variables: Mapping[str, str], state: Path) -> tuple[Path, ...]:
    """Return the prefixes of all known environments, sorted; an environment with several paths is returned once.

    Args:
        variables: environment variables: HOME, active environments, and variables that set the tools' directories.
        state: fastinstall's state directory.
    """
    listed = [*read_list(state / LIST), *read_list(find_home(variables) / ".conda" / LIST)]
    listed += [Path(variables[name]) for name in _ACTIVE if variables.get(name, "").startswith("/")]
    for place in _list_known_places(variables):
        listed += [place / name for name in foreign.list_names(place)]
    prefixes = {os.path.realpath(prefix): prefix for prefix in sorted(listed, reverse=True) if is_environment(prefix)}
    return tuple(sorted(prefixes.values()))


def read_list(file: Path) -> tuple[Path, ...]:
    """Return the absolute paths that a file lists, one per line; empty if the file cannot be read."""
    lines = foreign.text_or_empty(file, errors="surrogateescape").splitlines()
    return tuple(Path(line) for line in lines if line.startswith("/"))


def _list_known_places(variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield the directories in which tools keep environments. Sources: the manuals of these tools."""
    home = find_home(variables)

    def find(name: str, usual: Path) -> Path:
        """Return the value of the variable `name` if it is an absolute path, else `usual`."""
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
    """Add an environment to fastinstall's list, unless it is listed already; ignore a failure to write."""
    file, prefix = session.directories.state / LIST, environment.prefix
    if prefix in read_list(file) or "\n" in str(prefix):
        return
    with contextlib.suppress(OSError, UnicodeEncodeError):
        make_private(file.parent)
        append_line(file, str(prefix))


_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pixi.toml", ".git")
_ENTRIES = 300
_ABOVE = 4


def nearby_environments(directory: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the environments in a directory, then those in the root of its project, without duplicates.

    Args:
        directory: the directory.
        variables: environment variables. UV_PROJECT_ENVIRONMENT sets the directory of a uv project's environment.
            Source: uv's reference of variables.
    """
    found: dict[str, Path] = {}
    moved = variables.get("UV_PROJECT_ENVIRONMENT")
    here, home = directory.absolute(), find_home(variables)
    above = [each for each in here.parents if each not in (home, home.parent, Path("/"))][:_ABOVE]
    root = next((each for each in above if any((each / name).exists() for name in _PROJECT_FILES)), here)
    for place in (here, root):
        named = [place / moved] if moved else []
        for prefix in (*named, *_list_entries(place), *_list_entries(place / ".pixi" / "envs")):
            if is_environment(prefix):
                found.setdefault(os.path.realpath(prefix), prefix)
    return tuple(found.values())


def _list_entries(place: Path) -> list[Path]:
    """List the subdirectories of a directory, sorted; only the first 300 entries are read."""
    try:
        with os.scandir(place) as entries:
            some = [Path(entry.path) for entry, _ in zip(entries, range(_ENTRIES), strict=False) if entry.is_dir()]
    except OSError:
        return []
    return sorted(some)


def has_pillow(prefix: Path) -> bool:
    """Return whether an environment has a directory `site-packages/PIL`."""
    return any(True for lib in ("lib", "lib64") for _ in prefix.glob(f"{lib}/p*/site-packages/PIL"))


_OWNER = re.compile(r"(?P<name>pillow(?:[-_.]simd)?|pil)-(?P<version>[^-]+)\.dist-info", re.IGNORECASE)
_CONDA_PYTHON = re.compile(r"python-(?P<version>\d[\d.]*)-[^-]+\.json")
_SITE = ("lib/python*/site-packages", "lib64/python*/site-packages")


@immutable
class EnvironmentSummary:
    """A summary of an environment, from its file names, its pyvenv.cfg and fastinstall's receipt.

    Attributes:
        kind: conda, virtual or system environment.
        python: version of the environment's Python; empty if unknown.
        pillow: installed distributions of Pillow and its forks ("pillow 13.0.0"), sorted; empty if there are none.
        ours: the distribution that fastinstall installed ("pillow 13.0.0+simd.v2.v3"); empty if there is none.
    """

    prefix: Path
    kind: EnvironmentKind
    python: str = ""
    pillow: tuple[str, ...] = ()
    ours: str = ""

    @property
    def is_replaced(self) -> bool:
        """Whether the distribution that fastinstall installed was replaced or removed."""
        return bool(self.ours) and self.ours not in self.pillow


def scan_environment(prefix: Path) -> EnvironmentSummary:
    """Return a summary of an environment; an attribute is empty if the files that show it cannot be read."""
    pairs = _read_pyvenv(prefix)
    # `venv` writes the key "version"; virtualenv and uv write "version_info".
    told = pairs.get("version") or pairs.get("version_info", "")
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
