"""Lock a project by its own tool, in a private copy, and find what a lock downgrades.

The copy has links to everything but the manifest, the lock and our own directory, so that readme, workspace members,
dynamic metadata and paths beside the project are found. Nothing in the project changes.

A resolver that cannot have what it wants takes an older version of whatever asked for it, and says nothing. That is why
a pin is tried first, and its lock compared with the lock without it.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import RefusedError
from fastinstall.core.files import temporary_directory
from fastinstall.core.parsing import toml_data
from fastinstall.core.process import CommandError, Completed, run
from fastinstall.core.surroundings import find_program
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.model.facts import Project
from fastinstall.pins.markers import WHEELS, parse_requirement_name
from fastinstall.pins.project_files import HOME
from fastinstall.pins.tool import Locking, PinTool
from fastinstall.pins.tools import tools

_SECONDS = 900.0
_LEFT_OUT = frozenset({".venv", "venv", ".pixi", HOME, "__pypackages__", ".pdm-python"})
_OWN_PIN = "share/fastinstall/pin/"


@immutable
class LockTool:
    """The program that makes a project's lock.

    Attributes:
        tool: whose projects they are.
        locking: the commands.
        program: its path.
        prefix: of the environment that the lock is for.
        variables: of the environment that it runs in.
    """

    tool: PinTool
    locking: Locking
    program: Path
    prefix: Path
    variables: Mapping[str, str]

    def is_fresh(self, directory: Path) -> bool:
        """Whether the lock says what the manifest asks for."""
        return self._run(self.locking.check, directory, check=False).exit_code == 0

    def lock(self, directory: Path) -> bytes:
        """Make the lock of the project in a directory.

        Raises:
            CommandError: it could not be made; its details are what the tool said.
        """
        self._run(self.locking.lock, directory, check=True)
        return foreign.read_bytes(directory / self.tool.lock)

    def _run(self, words: tuple[str, ...], directory: Path, *, check: bool) -> Completed:
        python = ("--python", self.prefix / "bin" / "python") if self.locking.names_python else ()
        argv = (self.program, *words, *python)
        return run(argv, environment=self._make_environment(), directory=directory, timeout=_SECONDS, check=check)

    def _make_environment(self) -> dict[str, str]:
        dropped = {"CONDA_PREFIX", *(name for tool in tools() if tool.locking for name in tool.locking.drops)}
        kept = {name: value for name, value in self.variables.items() if name not in dropped}
        links = [link for link in re.split(r"[\s,]+", kept.pop("UV_FIND_LINKS", "")) if link and _OWN_PIN not in link]
        ours = {
            "VIRTUAL_ENV": str(self.prefix),
            "FASTINSTALL_GUARD": "0",
            **self.locking.variables,
        }
        return {**kept, **ours, **({"UV_FIND_LINKS": ",".join(links)} if links else {})}


def lock_tool(tool: PinTool, prefix: Path, variables: Mapping[str, str]) -> LockTool | None:
    """The program of a project's tool: the one that the variable of `variable_of` names, else the one on PATH.

    Returns:
        None if there is none, or the tool makes no lock for us.
    """
    found = find_program(variables.get(variable_of(tool)) or tool.name, variables)
    if found is None or tool.locking is None:
        return None
    return LockTool(tool=tool, locking=tool.locking, program=Path(found).absolute(), prefix=prefix, variables=variables)


def variable_of(tool: PinTool) -> str:
    """The variable that names a tool's program ("FASTINSTALL_UV")."""
    return f"FASTINSTALL_{tool.name.upper()}"


@contextmanager
def mirror_project(project: Project, wheel: Path, contents: Mapping[str, bytes | None]) -> Iterator[Path]:
    """A copy of a project to try a lock in, with our wheel in it; it goes away with the block.

    Args:
        project: that is copied.
        wheel: ours.
        contents: of the manifest and the lock, by their names; None for one that shall not be there.
    """
    directory = Path(project.directory)
    with temporary_directory("lock") as root:
        mirror = root / directory.name
        (mirror / WHEELS).mkdir(parents=True)
        shutil.copyfile(wheel, mirror / WHEELS / wheel.name)  # poetry resolves links
        for entry in directory.iterdir():
            if entry.name not in _LEFT_OUT | contents.keys():
                (mirror / entry.name).symlink_to(entry)
        for name, content in contents.items():
            if content is not None:
                (mirror / name).write_bytes(content)
                _link_siblings(directory, root, content.decode("utf-8"))
        yield mirror


def relocate_lock(lock: bytes, mirror: Path, project: Project) -> bytes:
    """A lock that was made in a mirror, as it reads in the project.

    Tools that follow links (poetry) write paths to where those lead, as seen from the mirror.
    """
    directory = Path(project.directory)
    inside, beside = (
        os.path.relpath(place, mirror.resolve()) for place in (directory.resolve(), directory.parent.resolve())
    )
    text = lock.decode("utf-8")
    return text.replace(f"{inside}/", "").replace(f"{beside}/", "../").encode("utf-8")


def make_lock_refusal(error: CommandError, project: Project, lines: tuple[str, ...]) -> RefusedError:
    """The refusal where the tool makes no lock with the pin.

    Args:
        error: of the tool.
        project: whose lock it is.
        lines: that the pin would add.
    """
    return RefusedError(
        f"{project.directory}: {project.manager} makes no lock with the pin; nothing was changed",
        hint=f"take back what is in its way, or add the lines by hand and run: {project.manager} lock",
        details=(*error.details, "the pin would add:", *lines),
    )


def _link_siblings(directory: Path, root: Path, text: str) -> None:
    """Links for what a manifest or a lock names beside the project ("../library")."""
    for name in set(re.findall(r"\.\./([\w.-]+)", text)) - {"..", ".", directory.name}:
        if (directory.parent / name).exists() and not (root / name).is_symlink():
            (root / name).symlink_to(directory.parent / name)


Locked = Mapping[str, frozenset[str]]
"""Versions by normalised name; several where platforms or Pythons differ."""


@immutable
class LockDowngrade:
    """A distribution that a lock holds at an older version than another one.

    Attributes:
        name: of the distribution.
        was: the versions of the earlier lock.
        now: those of the later one.
    """

    name: str
    was: tuple[str, ...]
    now: tuple[str, ...]

    def __str__(self) -> str:
        """For people ("numpy 2.5.5 -> 2.4.6")."""
        return f"{self.name} {', '.join(self.was)} -> {', '.join(self.now)}"


def parse_locked_versions(text: str) -> Locked:
    """The distributions of uv.lock, poetry.lock or pdm.lock, which all list `[[package]]` with name and version.

    Raises:
        ValueError: not TOML.
    """
    found: dict[str, set[str]] = {}
    for package in toml_data(text).get("package", ()):
        if package.get("version"):
            found.setdefault(parse_requirement_name(package["name"]), set()).add(package["version"])
    return {name: frozenset(versions) for name, versions in found.items()}


def find_downgrades(before: Locked, after: Locked, *, but: str) -> tuple[LockDowngrade, ...]:
    """The distributions that the later lock holds at an older version, or for fewer cases at the newer one.

    Args:
        before: the earlier lock.
        after: the later one.
        but: the name of the distribution that is pinned.
    """
    names = sorted(name for name in before.keys() & after.keys() if name != but and before[name] != after[name])
    return tuple(
        LockDowngrade(name=name, was=_sort_versions(before[name]), now=_sort_versions(after[name]))
        for name in names
        if _is_downgrade(before[name], after[name])
    )


def remove_locked_package(text: str, name: str) -> str:
    """A lock without what it says of one distribution, for a tool that keeps to it even against the manifest (pdm)."""
    first, *packages = re.split(r"(?m)^(?=\[\[package\]\]$)", text)
    named = re.compile(rf'^name = "{re.escape(name)}"$', re.MULTILINE)
    return first + "".join(package for package in packages if not named.search(package))


def _is_downgrade(was: frozenset[str], now: frozenset[str]) -> bool:
    newest = max(map(parse_version_number, was))
    if any(parse_version_number(version) < newest for version in now - was):
        return True
    # One that is gone has become a newer one, if such has come; else one of those that were there already.
    lost = [
        gone
        for gone in was - now
        if not any(parse_version_number(come) > parse_version_number(gone) for come in now - was)
    ]
    return any(parse_version_number(left) < parse_version_number(gone) for gone in lost for left in now)


def _sort_versions(versions: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(versions, key=parse_version_number))
