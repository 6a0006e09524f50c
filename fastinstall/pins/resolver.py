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
from fastinstall.core.process import CommandError, Completed, run
from fastinstall.core.surroundings import find_program
from fastinstall.core.temporary_directories import temporary_directory
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.model.pin_state import Project
from fastinstall.pins.earlier_pins import HOME
from fastinstall.pins.markers import PinnedBuild, parse_requirement_name
from fastinstall.pins.tool import Locking, PinTool
from fastinstall.pins.tools import tools

_SECONDS = 900.0
_LEFT_OUT = frozenset({".venv", "venv", ".pixi", HOME, "__pypackages__", ".pdm-python"})
_OWN_PIN = "share/fastinstall/pin/"


def require_lock_program(
    project: Project, tool: PinTool[PinnedBuild], variables: Mapping[str, str], details: tuple[str, ...] = ()
) -> Path:
    """The program of a project's tool: the one that a variable names (FASTINSTALL_UV), else the one on PATH.

    Raises:
        RefusedError: there is none; with these details.
    """
    variable = f"FASTINSTALL_{tool.name.upper()}"
    found = find_program(variables.get(variable) or tool.name, variables)
    if found is None:
        raise RefusedError(
            f"{project.directory} is a {tool.name} project, and {tool.name} is not on PATH: no lock file can be made",
            hint=f"name it: export {variable}=/path/to/{tool.name}",
            details=details,
        )
    return Path(found).absolute()


@immutable
class LockTrial:
    """A pin of a project whose tool makes a lock, tried.

    Attributes:
        project: that is to be pinned.
        tool: of it.
        locking: how that makes its lock.
        program: the tool's own.
        prefix: of the environment that the lock is for.
        variables: of the environment that the program runs in.
        build: ours.
    """

    project: Project
    tool: PinTool[PinnedBuild]
    locking: Locking
    program: Path
    prefix: Path
    variables: Mapping[str, str]
    build: PinnedBuild

    def make_lock(self, before: Mapping[str, bytes | None], manifest: str) -> bytes:
        """Return the lock that holds our build; nothing in the project changes.

        Args:
            before: manifest and lock without a pin, by file name. The lock is None if there is none.
            manifest: the text with the pin.

        Raises:
            RefusedError: no lock can be made, it would not hold our build, or it would go back on other distributions.
        """
        name, lock = before
        build = self.build
        by_hand = self.tool.describe_additions("", build)
        with mirror_project(self.project, before) as mirror:
            plain = self._make_plain_lock(mirror, before[lock]).decode("utf-8")
            if before[name] == manifest.encode("utf-8"):  # the pin is there already
                return self._relocate(plain, mirror).encode("utf-8")
            prepared = self.tool.prepare_lock(manifest, plain, build)
            if prepared != plain:
                (mirror / lock).write_text(prepared, encoding="utf-8")
            if build.name not in parse_locked_versions(plain):
                raise RefusedError(
                    f"{self.project.directory}: nothing in the project requires {build.name}, "
                    "so its lock file cannot pin it",
                    hint=f"cd {quote(self.project.directory)} && {self.tool.name} add {build.name}, "
                    "then run this command again",
                )
            (mirror / name).write_text(manifest, encoding="utf-8", newline="")
            try:
                pinned = self._relocate(self._lock(mirror).decode("utf-8"), mirror)
            except CommandError as error:
                raise RefusedError(
                    f"{self.project.directory}: {self.tool.name} cannot lock it with the pin",
                    hint=f"remove what conflicts with it, or add the lines by hand and run: {self.tool.name} lock",
                    details=(*error.details, *by_hand),
                ) from error
        self._refuse_unheld(build, parse_locked_versions(plain), parse_locked_versions(pinned))
        return pinned.encode("utf-8")

    def _make_plain_lock(self, mirror: Path, there: bytes | None) -> bytes:
        if there is not None and self._run(self.locking.check, mirror, check=False).exit_code == 0:
            return there
        try:
            return self._lock(mirror)
        except CommandError as error:
            directory, name = self.project.directory, self.tool.name
            raise RefusedError(
                f"{directory}: {name} cannot lock the project as it is",
                hint=f"cd {quote(directory)} && {name} lock",
                details=error.details,
            ) from error

    def _lock(self, mirror: Path) -> bytes:
        self._run(self.locking.lock, mirror, check=True)
        return foreign.read_bytes(mirror / self.tool.lock)

    def _run(self, words: tuple[str, ...], directory: Path, *, check: bool) -> Completed:
        python = ("--python", self.prefix / "bin" / "python") if self.locking.names_python else ()
        argv = (self.program, *words, *python)
        return run(argv, environment=self._make_environment(), directory=directory, timeout=_SECONDS, check=check)

    def _make_environment(self) -> dict[str, str]:
        dropped = {"CONDA_PREFIX", *(name for tool in tools().values() if tool.locking for name in tool.locking.drops)}
        kept = {name: value for name, value in self.variables.items() if name not in dropped}
        links = [link for link in re.split(r"[\s,]+", kept.pop("UV_FIND_LINKS", "")) if link and _OWN_PIN not in link]
        if links:
            kept["UV_FIND_LINKS"] = ",".join(links)
        return {**kept, "VIRTUAL_ENV": str(self.prefix), "FASTINSTALL_GUARD": "0", **self.locking.variables}

    def _relocate(self, lock: str, mirror: Path) -> str:
        """Return a lock that was made in a mirror as it reads in the project.

        Tools write paths as seen from the mirror: to where links in it lead (poetry), and to our build (uv, poetry).
        """
        directory, build = Path(self.project.directory).resolve(), self.build.directory
        places = [(directory, "/", ""), (directory.parent, "/", "../")]
        if build.is_absolute():  # first, as it may lie in the others
            places.insert(0, (Path(build), "", os.path.relpath(build, directory)))
        for place, end, name in places:
            lock = lock.replace(f"{os.path.relpath(place, mirror.resolve())}{end}", name)
        return lock

    def _refuse_unheld(self, build: PinnedBuild, before: "Locked", after: "Locked") -> None:
        held = after.get(build.name, frozenset())
        if build.version not in held:
            raise RefusedError(
                f"{self.project.directory}: the lock file would hold {build.name} "
                f"{listing(sorted(held)) or 'not at all'}, not the pinned {build.version}",
                hint=f"check that requires-python in {self.project.manifest} allows Python {build.python}",
                details=self.tool.describe_additions("", build),
            )
        backwards = find_downgrades(before, after, but=build.name)
        if backwards:
            raise RefusedError(
                f"{self.project.directory}: with the pin, {self.tool.name} would downgrade {listing(backwards)}",
                hint=f"see what requires another {build.name}: {self.locking.why}",
                details=tuple(f"{name} {versions}" for name, versions in backwards.items()),
            )


@contextmanager
def mirror_project(project: Project, contents: Mapping[str, bytes | None]) -> Iterator[Path]:
    """Make a copy of a project to try a lock in; it goes away with the block.

    Args:
        project: that is copied.
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
    """Links for what a manifest or a lock names beside the project ("../library")."""
    for name in set(re.findall(r"\.\./([\w.-]+)", text)) - {"..", ".", directory.name}:
        if (directory.parent / name).exists() and not (root / name).is_symlink():
            (root / name).symlink_to(directory.parent / name)


Locked = Mapping[str, frozenset[str]]
"""Versions by normalised name; several where platforms or Pythons differ."""


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


def find_downgrades(before: Locked, after: Locked, *, but: str) -> dict[str, str]:
    """The distributions that the later lock holds at an older version, or for fewer cases at the newer one.

    Args:
        before: the earlier lock.
        after: the later one.
        but: the name of the distribution that is pinned.

    Returns:
        For people, by name: "2.5.5 -> 2.4.6".
    """
    names = sorted(name for name in before.keys() & after.keys() if name != but)
    return {
        name: " -> ".join(", ".join(sorted(each[name], key=parse_version_number)) for each in (before, after))
        for name in names
        if _is_downgrade(before[name], after[name])
    }


def _is_downgrade(was: frozenset[str], now: frozenset[str]) -> bool:
    newest = max(map(parse_version_number, was))
    come = [parse_version_number(version) for version in now - was]
    if any(version < newest for version in come):
        return True
    # One that is gone has become a newer one, if such has come; else one of those that were there already.
    gone = map(parse_version_number, was - now)
    lost = [version for version in gone if not any(each > version for each in come)]
    return any(parse_version_number(left) < version for version in lost for left in now)
