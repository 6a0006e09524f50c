"""Make the change that pins a project to the stack, so that the project's own installs keep it.

A resolver that cannot satisfy a requirement silently takes an older version of what requires it. So the change is tried
first, with the project's own tool, in a private copy: the manifest is edited, and the new lock file compared with the
one without the pin. If it downgrades any other distribution, there is none. The copy links to everything but the
manifest and the lock file, so that the tool finds the readme, workspace members, dynamic metadata and paths beside the
project.

The change comes as a diff, which whoever asked for it applies: nothing of the project is written here. The build itself
goes into a directory of the user's, where the project's tool finds it.
"""

import difflib
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import files, foreign
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.core.parsing import toml_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.surroundings import find_program, make_private
from fastinstall.core.temporary_directories import temporary_directory
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.journal.path_rules import refuse_outside
from fastinstall.model.conda_packages import CHANNEL
from fastinstall.model.facts import Project
from fastinstall.model.receipt import Receipt
from fastinstall.pins.manifests import merge_lines
from fastinstall.pins.tool import Locking, PinnedBuild, PinnedPackage, PinTool, parse_pinned_build
from fastinstall.pins.tools import tools

_WHEEL = 1 << 30
"""Bytes."""
_DIGITS = 12
_NO_NEWLINE = "\n\\ No newline at end of file\n"
"""Source: GNU diffutils, "Incomplete Lines"."""


@immutable
class ProjectChange:
    """A change of a project's manifest and lock.

    Attributes:
        project: the directory that holds the manifest.
        manager: the name of its tool ("uv").
        requirement: what is pinned by it ("pillow==13.0.0+simd.v3").
        diff: in the unified format, with paths relative to the project; empty if nothing is to change.
        notes: what to know before it is applied, a sentence each.
    """

    project: PurePath
    manager: str
    requirement: str
    diff: str
    notes: tuple[str, ...] = ()


@immutable
class PinRequest:
    """What is to be pinned where.

    Attributes:
        prefix: of the environment where the stack is in place.
        project: what `project_of` returns for that environment.
        receipt: what the setup recorded about the stack.
        wheel: the file that it came from; not looked at for a tool that takes conda packages.
        directory: where the build is kept for the project's tool.
    """

    prefix: Path
    project: Project
    receipt: Receipt
    wheel: Path
    directory: Path


def make_pin(request: PinRequest, variables: Mapping[str, str]) -> ProjectChange:
    """Return the change that pins a project; a pin of ours that is there is replaced by it.

    Args:
        request: what is to be pinned where.
        variables: of the environment that the project's tool runs in.

    Raises:
        RefusedError: a foreign setting is in the way, the project's tool is not to be found or makes no lock, the
            lock would not hold the stack, or would go back on other distributions.
        DocumentError: the manifest cannot be read.
    """
    project, directory, name = request.project, Path(request.project.directory), request.project.manifest.name
    tool = tools()[project.manager]
    names = (name, tool.lock) if tool.locking is not None else (name,)
    there = {each: foreign.bytes_if_there(directory / each) for each in names}
    kept, payload = _list_payload(tool, request)
    with _kept(kept, payload):
        pinned, text = _describe_build(tool, request, _name_in_manifest(kept, directory)), there[name] or b""
        lines = tool.format_lines(text.decode("utf-8"), pinned)
        after = {name: merge_lines(text.decode("utf-8"), lines, file=project.manifest).encode("utf-8")}
        if tool.locking is not None and isinstance(pinned, PinnedBuild):
            trial = LockTrial(
                project=project,
                tool=tool,
                locking=tool.locking,
                prefix=request.prefix,
                variables=variables,
                build=pinned,
                lines=lines,
            )
            after[tool.lock] = trial.make_lock(there, after[name])
    diff = "".join(format_diff(each, there[each], after[each]) for each in names)
    return ProjectChange(
        project=directory,
        manager=tool.name,
        requirement=f"{request.receipt.distribution}=={request.receipt.version}",
        diff=diff,
        notes=tuple(_describe_costs(request, tool, pinned)) if diff else (),
    )


def _describe_costs(request: PinRequest, tool: PinTool[Any], pinned: PinnedBuild | PinnedPackage) -> Iterator[str]:
    directory = Path(request.project.directory)
    yield (
        f"the pin holds back every other Pillow, security updates included: `{request.project.sync}` keeps "
        f"{request.receipt.distribution} {request.receipt.version} until you change it"
    )
    if pinned.directory.is_absolute():
        yield (
            f"{request.project.manifest.name} will name {pinned.directory}, which other machines do not have; "
            f"to share it, keep the build in the project: add --wheels {quote(directory / 'wheels')}"
        )
    if caution := tool.describe_caution(directory, pinned):
        yield caution


def _list_payload(tool: PinTool[Any], request: PinRequest) -> tuple[Path, dict[str, Path]]:
    """Return the directory that the project's tool is led to, and what has to lie in it, by its path in there."""
    if not tool.takes_packages:
        return request.directory, {request.wheel.name: request.wheel}
    prefix, place = request.prefix, quote(request.prefix)
    channel = prefix / CHANNEL  # whatever the receipt names: it lies in an environment that others may have made
    found = sorted(path for path in channel.rglob("*") if path.is_file() and not path.is_symlink())
    if request.receipt.conda is None or not found:
        raise RefusedError(
            f"{tool.name} needs the stack as a conda package, and there is none in {channel}",
            hint=f"make it: fastinstall setup --upgrade --prefix {place}",
        )
    refuse_outside(prefix, (path.parent.relative_to(prefix).as_posix() for path in found))
    payload = {path.relative_to(channel).as_posix(): path for path in found}
    # Two channels never share a directory: each has an index of all that lies in it.
    digests = "".join(f"{name} {files.sha256(path)}\n" for name, path in payload.items())
    return request.directory / f"channel-{hashlib.sha256(digests.encode()).hexdigest()[:_DIGITS]}", payload


@contextmanager
def _kept(directory: Path, payload: Mapping[str, Path]) -> Iterator[None]:
    """Put a build where the project's tool finds it; what is put there goes again if the block raises.

    Raises:
        RefusedError: another build of the same name lies there.
    """
    fresh = [name for name in payload if not (directory / name).exists()]
    for name in payload.keys() - set(fresh):
        if files.sha256(directory / name) != files.sha256(payload[name]):
            raise RefusedError(
                f"{directory / name}: another build has this name, and the locks of other projects may hold to it",
                hint="keep this one elsewhere: fastinstall guard pin --wheels DIR",
            )
    make_private(directory)
    try:
        for name in fresh:
            files.write_bytes(directory / name, foreign.read_bytes(payload[name], limit=_WHEEL))
        yield
    except BaseException:
        for name in fresh:
            (directory / name).unlink(missing_ok=True)
        raise


def _name_in_manifest(place: Path, project: Path) -> PurePath:
    """Return a directory relative to the project that it lies in, so that this can be moved and committed."""
    whole, project = place.resolve(), project.resolve()
    return whole.relative_to(project) if whole.is_relative_to(project) else whole


def _describe_build(tool: PinTool[Any], request: PinRequest, place: PurePath) -> PinnedBuild | PinnedPackage:
    if tool.takes_packages and request.receipt.conda is not None:
        return PinnedPackage(package=request.receipt.conda.package, directory=place)
    return parse_pinned_build(request.wheel.name, place)


def format_diff(name: str, before: bytes | None, after: bytes | None) -> str:
    r"""Return the diff of a file, such as `git apply` and patch(1) take; empty if nothing differs.

    Headers have no line `diff --git`: git then takes paths as relative to the directory in which it runs
    (git-apply(1)), so that a project in a subdirectory of its repository needs no other text.

    Args:
        name: of the file, relative to the directory in which the diff is applied.
        before: what it was; None if it was not there.
        after: what it is to be; None if it is to go.

    Raises:
        UnicodeDecodeError: it is not UTF-8.

    >>> print(format_diff("uv.lock", None, b"version = 1\n"), end="")
    --- /dev/null
    +++ b/uv.lock
    @@ -0,0 +1 @@
    +version = 1
    """
    old = f"a/{name}" if before is not None else "/dev/null"
    new = f"b/{name}" if after is not None else "/dev/null"
    lines = difflib.unified_diff(_split_lines(before), _split_lines(after), old, new)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def _split_lines(content: bytes | None) -> list[str]:
    """Split into lines and keep their ends; only a line feed ends one, as in git."""
    *lines, last = (content or b"").decode("utf-8").split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


_SECONDS = 900.0
_LEFT_OUT = frozenset({".venv", "venv", ".pixi", "__pypackages__", ".pdm-python"})
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
        variables = ((name, value) for name, value in self.variables.items() if name not in dropped)
        # A pin of the environment that a shell has sourced would lead into it.
        kept = {name: value for name, value in variables if _OWN_PIN not in value}
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
        if backwards := find_downgrades(before, after, but=build.name):
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

    Entries of another form, which none of these tools writes, are left out.

    Raises:
        ValueError: not TOML.
    """
    from packaging.utils import canonicalize_name  # noqa: PLC0415 (only where a pin is made)

    packages = toml_data(text).get("package", [])
    versions: dict[str, set[str]] = {}
    for package in packages if isinstance(packages, list) else ():
        match package:
            case {"name": str(name), "version": str(version)} if version:
                versions.setdefault(canonicalize_name(name), set()).add(version)
    return {name: frozenset(each) for name, each in versions.items()}


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
