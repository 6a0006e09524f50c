"""Lock a project with its own tool, in a private copy, and refuse a pin that downgrades other distributions.

The copy links to everything but the manifest, the lock file and what an earlier pin left, so that the tool finds the
readme, workspace members, dynamic metadata and paths beside the project. Nothing in the project changes.

A resolver that cannot satisfy a requirement silently takes an older version of what requires it. So a pin is tried
first, and its lock file compared with the one without it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.core.parsing import toml_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.surroundings import find_program
from fastinstall.core.temporary_directories import temporary_directory
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.model.facts import Project
from fastinstall.pins.earlier_pins import HOME
from fastinstall.pins.tool import Locking, PinnedBuild, PinTool
from fastinstall.pins.tools import tools

_SECONDS = 900.0
_LEFT_OUT = frozenset({".venv", "venv", ".pixi", HOME, "__pypackages__", ".pdm-python"})
_OWN_PIN = "share/fastinstall/pin/"


@immutable
class LockTrial:
    """A pin of a project whose tool makes a lock, tried.

    Attributes:
        project: that is to be pinned.
        tool: what the project is managed with (uv, pdm, ...).
        locking: how that makes its lock.
        prefix: of the environment that the lock is for.
        variables: of the environment that the tool's program runs in.
        build: our wheel, which the lock has to hold.
        lines: of the manifest, for a person who adds them by hand.
    """

    project: Project
    tool: PinTool[PinnedBuild]
    locking: Locking
    prefix: Path
    variables: Mapping[str, str]
    build: PinnedBuild
    lines: str

    def make_lock(self, before: Mapping[str, bytes | None], manifest: bytes) -> bytes:
        """Return the lock that holds our build; nothing in the project changes.

        Args:
            before: manifest and lock without a pin, by file name. The lock is None if there is none.
            manifest: the manifest with the pin, as UTF-8.

        Raises:
            RefusedError: no lock can be made, it would not hold our build, or it would go back on other distributions.
        """
        name, tool, build = next(iter(before)), self.tool, self.build
        with mirror_project(self.project, before) as mirror:
            command = f"cd {quote(self.project.directory)} && {tool.name} lock"
            plain = self._lock(mirror, "as it is", f"see what is wrong: {command}")
            if before[name] == manifest:  # the pin is there already
                return plain
            versions = parse_locked_versions(plain.decode("utf-8"))
            if build.name not in versions:
                raise self._refuse(
                    f"nothing in the project requires {build.name}, so its lock file cannot pin it",
                    f"cd {quote(self.project.directory)} && {tool.name} add {build.name}, then run this command again",
                )
            (mirror / name).write_bytes(manifest)
            hint = "remove what conflicts with it, or add the lines by hand and lock"
            pinned = self._lock(mirror, "with the pin", hint)
        self._refuse_unheld(versions, parse_locked_versions(pinned.decode("utf-8")))
        return pinned

    def _refuse(self, problem: str, hint: str, details: tuple[str, ...] = ()) -> RefusedError:
        return RefusedError(f"{self.project.directory}: {problem}", hint=hint, details=details)

    @property
    def _by_hand(self) -> tuple[str, ...]:
        return ("the pin would add:", *self.lines.splitlines())

    def _lock(self, mirror: Path, how: str, hint: str) -> bytes:
        dropped = {"CONDA_PREFIX", *(name for tool in tools().values() if tool.locking for name in tool.locking.drops)}
        kept = {
            name: value for name, value in self.variables.items() if name not in dropped and _OWN_PIN not in value
        }  # a pin of the environment that a shell has sourced would lead into it
        environment = {**kept, "VIRTUAL_ENV": str(self.prefix), "FASTINSTALL_GUARD": "0", **self.locking.variables}
        python = ("--python", self.prefix / "bin" / "python") if self.locking.names_python else ()
        argv = (self._find_program(), *self.locking.lock, *python)
        try:
            run(argv, environment=environment, directory=mirror, timeout=_SECONDS, check=True)
        except CommandError as error:
            problem = f"{self.tool.name} cannot lock it {how}"
            raise self._refuse(problem, hint, (*error.details, *self._by_hand)) from error
        return self._relocate(foreign.read_bytes(mirror / self.tool.lock), mirror)

    def _find_program(self) -> Path:
        """Return the program that a variable names (FASTINSTALL_UV), else the one on PATH."""
        name = self.tool.name
        variable = f"FASTINSTALL_{name.upper()}"
        found = find_program(self.variables.get(variable) or name, self.variables)
        if found is None:
            raise self._refuse(
                f"a {name} project, and {name} is not on PATH: no lock file can be made",
                f"name it: export {variable}=/path/to/{name}",
                self._by_hand,
            )
        return Path(found).absolute()

    def _relocate(self, content: bytes, mirror: Path) -> bytes:
        """Return a lock that was made in a mirror as it reads in the project.

        Tools write paths as seen from the mirror: to where links in it lead (poetry), and to our build (uv, poetry).
        """
        lock, directory, build = content.decode("utf-8"), Path(self.project.directory).resolve(), self.build.directory
        places = [(directory, "/", ""), (directory.parent, "/", "../")]
        if build.is_absolute():  # first, as it may lie in the others
            places.insert(0, (Path(build), "", os.path.relpath(build, directory)))
        for place, end, name in places:
            lock = lock.replace(f"{os.path.relpath(place, mirror.resolve())}{end}", name)
        return lock.encode("utf-8")

    def _refuse_unheld(self, before: "Locked", after: "Locked") -> None:
        build, held = self.build, after.get(self.build.name, frozenset())
        if build.version not in held:
            raise self._refuse(
                f"the lock file would hold {build.name} {listing(sorted(held)) or 'not at all'}, "
                f"not the pinned {build.version}",
                f"see whether requires-python allows Python {build.python}, and what else decides: "
                f"grep -n {build.name} {quote(self.project.manifest)}",
                self._by_hand,
            )
        backwards = find_downgrades(before, after, but=build.name)
        if backwards:
            raise self._refuse(
                f"with the pin, {self.tool.name} would downgrade {listing(backwards)}",
                f"see what requires another {build.name}: {self.locking.why}",
                tuple(f"{name} {versions}" for name, versions in backwards.items()),
            )


@contextmanager
def mirror_project(project: Project, contents: Mapping[str, bytes | None]) -> Iterator[Path]:
    """Make a copy of a project to try a lock in; it goes away with the block.

    Args:
        contents: of the manifest and the lock, by their names; None for one that shall not be there.
    """
    directory = Path(project.directory)
    with temporary_directory("lock") as root:
        mirror = root / directory.name
        mirror.mkdir(parents=True)
        for entry in directory.iterdir():
            if entry.name not in _LEFT_OUT | contents.keys():
                (mirror / entry.name).symlink_to(entry)
        for name, content in contents.items():
            if content is not None:
                (mirror / name).write_bytes(content)
                _link_siblings(directory, root, content.decode("utf-8"))
        yield mirror


def _link_siblings(directory: Path, root: Path, text: str) -> None:
    """Link what a manifest or a lock names beside the project ("../library")."""
    for name in set(re.findall(r"\.\./([\w.-]+)", text)) - {"..", ".", directory.name}:
        if (directory.parent / name).exists() and not (root / name).is_symlink():
            (root / name).symlink_to(directory.parent / name)


Locked = Mapping[str, frozenset[str]]
"""Versions by normalised name; several where platforms or Pythons differ."""


def parse_locked_versions(text: str) -> Locked:
    """Return the distributions of uv.lock, poetry.lock or pdm.lock, which all list `[[package]]` with name and version.

    Raises:
        ValueError: not TOML.
    """
    from packaging.utils import canonicalize_name  # noqa: PLC0415 (only where a pin is made)

    found: dict[str, set[str]] = {}
    for package in toml_data(text).get("package", ()):
        if package.get("version"):
            found.setdefault(canonicalize_name(package["name"]), set()).add(package["version"])
    return {name: frozenset(versions) for name, versions in found.items()}


def find_downgrades(before: Locked, after: Locked, *, but: str) -> dict[str, str]:
    """Return the distributions of which the later lock takes a version older than the earlier one's newest.

    Args:
        before: versions in the earlier lock, by distribution.
        after: versions in the later lock, by distribution.
        but: the name of the distribution that is pinned.

    Returns:
        For people, by name: "2.5.5 -> 2.4.6".
    """
    found = {}
    for name in sorted((before.keys() & after.keys()) - {but}):
        was, now = (sorted(each[name], key=parse_version_number) for each in (before, after))
        newest = parse_version_number(was[-1])
        come_or_only = [*(after[name] - before[name]), now[-1]]
        if any(parse_version_number(version) < newest for version in come_or_only):
            found[name] = f"{', '.join(was)} -> {', '.join(now)}"
    return found
