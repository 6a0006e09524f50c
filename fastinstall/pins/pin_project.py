"""Prepare the change that pins a project to the stack, so that the project's own installs keep the stack.

If a resolver cannot satisfy a requirement, it may silently choose an older version of the distribution that has this
requirement. Therefore the change is first tried with the project's own tool in a private copy: the manifest is edited,
and the new lock file is compared with a lock file without the pin. If any other distribution is downgraded, the pin is
refused. In the copy, everything except the manifest and the lock file is a symbolic link, so that the tool finds the
readme, workspace members, dynamic metadata and sibling directories.

The change is returned as a diff for the caller to apply; nothing in the project is written here. The build is copied
into a directory of the user's, where the project's tool finds it.
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
from fastinstall.model.conda import CondaPackage
from fastinstall.model.conda_packages import CHANNEL
from fastinstall.model.guards import Project
from fastinstall.model.receipt import Receipt
from fastinstall.pins.manifests import merge_lines
from fastinstall.pins.tools import TOOLS, PinnedBuild, PinTool, parse_pinned_build

_WHEEL = 1 << 30
"""The largest file of a build that is read, in bytes."""
_DIGITS = 12
_NO_NEWLINE = "\n\\ No newline at end of file\n"
"""Source: GNU diffutils, "Incomplete Lines"."""


@immutable
class ProjectChange:
    """A change to a project's manifest and lock file.

    Attributes:
        project: the directory of the manifest.
        manager: the name of the project's tool ("uv").
        requirement: the pinned build ("pillow==13.0.0+simd.v3").
        diff: the change as a unified diff, with paths relative to the project; empty if nothing changes.
        notes: warnings to read before applying the diff, one sentence each.
    """

    project: PurePath
    manager: str
    requirement: str
    diff: str
    notes: tuple[str, ...] = ()


def make_pin(
    prefix: Path, project: Project, receipt: Receipt, wheel: Path, directory: Path, variables: Mapping[str, str]
) -> ProjectChange:
    """Return the change that pins a project; it replaces an earlier pin to another build of fastinstall.

    Args:
        prefix: prefix of the environment that has the stack.
        project: the project, as returned by `project_of` for that environment.
        receipt: the setup's record of the stack.
        wheel: the wheel that the stack was installed from; not used for a tool that installs conda packages.
        directory: the directory to copy the build into, for the project's tool.
        variables: environment variables for the project's tool.

    Raises:
        RefusedError: the manifest already sets a key differently, the project's tool is missing or cannot lock, or the
            new lock would lack the stack or downgrade other distributions.
        DocumentError: the manifest cannot be read.
    """
    place, name, tool = Path(project.directory), project.manifest.name, TOOLS[project.manager]
    names = (name, tool.lock) if tool.lock_words else (name,)
    before = {each: foreign.bytes_if_there(place / each) for each in names}
    text = (before[name] or b"").decode("utf-8")
    kept, payload = _list_payload(tool, prefix, receipt, wheel, directory)
    with _kept(kept, payload):
        # A path inside the project is made relative, so that the project can be moved.
        named, root = kept.resolve(), place.resolve()
        named = named.relative_to(root) if named.is_relative_to(root) else named
        pinned: PinnedBuild | CondaPackage = (
            receipt.conda.package
            if tool.takes_packages and receipt.conda is not None
            else parse_pinned_build(wheel.name)
        )
        lines = tool.format_lines(text, pinned, named)
        after = {name: merge_lines(text, lines, file=project.manifest).encode("utf-8")}
        if tool.lock_words and isinstance(pinned, PinnedBuild):
            trial = LockTrial(
                project=project, tool=tool, prefix=prefix, variables=variables, build=pinned, kept=named, lines=lines
            )
            after[tool.lock] = trial.make_lock(before, after[name])
    diff = "".join(format_diff(each, before[each], after[each]) for each in names)
    return ProjectChange(
        project=place,
        manager=tool.name,
        requirement=f"{receipt.distribution}=={receipt.version}",
        diff=diff,
        notes=tuple(_describe_costs(project, receipt, tool, pinned, named)) if diff else (),
    )


def _describe_costs(
    project: Project, receipt: Receipt, tool: PinTool[Any], pinned: PinnedBuild | CondaPackage, kept: PurePath
) -> Iterator[str]:
    directory = Path(project.directory)
    yield (
        f"the pin holds back every other Pillow, security updates included: `{project.sync}` keeps "
        f"{receipt.distribution} {receipt.version} until you change it"
    )
    if kept.is_absolute():
        yield (
            f"{project.manifest.name} will name {kept}, which other machines do not have; "
            f"to share it, keep the build in the project: add --wheels {quote(directory / 'wheels')}"
        )
    if caution := tool.describe_caution(directory, pinned):
        yield caution


def _list_payload(
    tool: PinTool[Any], prefix: Path, receipt: Receipt, wheel: Path, directory: Path
) -> tuple[Path, dict[str, Path]]:
    """Return the directory for the build, and the files to copy into it; keys are their paths in this directory."""
    if not tool.takes_packages:
        return directory, {wheel.name: wheel}
    # Do not trust the path in the receipt: somebody else may have made the environment.
    channel = prefix / CHANNEL
    found = sorted(path for path in channel.rglob("*") if path.is_file() and not path.is_symlink())
    if receipt.conda is None or not found:
        raise RefusedError(
            f"{tool.name} needs the stack as a conda package, and there is none in {channel}",
            hint=f"make it: fastinstall setup --upgrade --prefix {quote(prefix)}",
        )
    refuse_outside(prefix, (path.parent.relative_to(prefix).as_posix() for path in found))
    payload = {path.relative_to(channel).as_posix(): path for path in found}
    # The name contains a digest, because two channels must not share a directory: the index lists all packages in it.
    digests = "".join(f"{name} {files.sha256(path)}\n" for name, path in payload.items())
    return directory / f"channel-{hashlib.sha256(digests.encode()).hexdigest()[:_DIGITS]}", payload


@contextmanager
def _kept(directory: Path, payload: Mapping[str, Path]) -> Iterator[None]:
    """Copy a build into the directory where the project's tool finds it; remove the copies if the block raises.

    Raises:
        RefusedError: the directory has another build under the same name.
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


def format_diff(name: str, before: bytes | None, after: bytes | None) -> str:
    r"""Return the diff of a file in the format of `git apply` and patch(1); empty if nothing differs.

    The header has no `diff --git` line. git then takes paths as relative to its working directory (git-apply(1)), so
    that the diff also suits a project in a subdirectory of its repository.

    Args:
        name: path of the file, relative to the directory in which the diff is applied.
        before: the old content; None if the file is new.
        after: the new content; None if the file is removed.

    Raises:
        UnicodeDecodeError: a content is not UTF-8.

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
    """Split content at line feeds only, as git does, and keep the line ends."""
    *lines, last = (content or b"").decode("utf-8").split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


_SECONDS = 900.0
_LEFT_OUT = frozenset({".venv", "venv", ".pixi", "__pypackages__", ".pdm-python"})
_OWN_PIN = "share/fastinstall/pin/"


@immutable
class LockTrial:
    """A trial of a pin with the project's own tool, which must make lock files.

    Attributes:
        project: the project to pin.
        tool: the project's tool (uv, pdm, ...).
        prefix: prefix of the environment that the lock is for.
        variables: environment variables for the tool.
        build: the fastinstall wheel that the lock must contain.
        kept: directory of that wheel, as written in the manifest: relative to the project, or absolute.
        lines: lines of the pin for the manifest, shown in errors so that the user can add them by hand.
    """

    project: Project
    tool: PinTool[PinnedBuild]
    prefix: Path
    variables: Mapping[str, str]
    build: PinnedBuild
    kept: PurePath
    lines: str

    def make_lock(self, before: Mapping[str, bytes | None], manifest: bytes) -> bytes:
        """Return the content of a lock that contains the build; the project itself is not changed.

        Args:
            before: present content of the manifest and the lock, in this order, by file name; None if missing.
            manifest: content of the manifest with the pin, UTF-8.

        Raises:
            RefusedError: the tool cannot lock, or the lock would lack the build or downgrade other distributions.
        """
        name, tool, build = next(iter(before)), self.tool, self.build
        with mirror_project(self.project, before) as mirror:
            command = f"cd {quote(self.project.directory)} && {tool.name} lock"
            plain = self._lock(mirror, "as it is", f"see what is wrong: {command}")
            if before[name] == manifest:  # the project is already pinned
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
        dropped = {"CONDA_PREFIX", *(name for tool in TOOLS.values() for name in tool.drops)}
        variables = ((name, value) for name, value in self.variables.items() if name not in dropped)
        # Drop the variables of the guard's own pin, if the shell has set them: they would change what is locked.
        kept = {name: value for name, value in variables if _OWN_PIN not in value}
        environment = {**kept, "VIRTUAL_ENV": str(self.prefix), "FASTINSTALL_GUARD": "0", **dict(self.tool.variables)}
        python = ("--python", self.prefix / "bin" / "python") if self.tool.names_python else ()
        argv = (self._find_program(), *self.tool.lock_words, *python)
        try:
            run(argv, environment=environment, directory=mirror, timeout=_SECONDS, check=True)
        except CommandError as error:
            problem = f"{self.tool.name} cannot lock it {how}"
            raise self._refuse(problem, hint, (*error.details, *self._by_hand)) from error
        return self._relocate(foreign.read_bytes(mirror / self.tool.lock), mirror)

    def _find_program(self) -> Path:
        """Return the tool's program: the one that a variable such as FASTINSTALL_UV names, else the one on PATH."""
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
        """Change the paths in a lock that was made in a mirror, so that they are relative to the project.

        Tools write two kinds of paths relative to the mirror: targets of the mirror's links (poetry), and the path of
        the build (uv, poetry).
        """
        lock, directory = content.decode("utf-8"), Path(self.project.directory).resolve()
        places = [(directory, "/", ""), (directory.parent, "/", "../")]
        if self.kept.is_absolute():  # replace the build's path first: it may be inside one of the others
            places.insert(0, (Path(self.kept), "", os.path.relpath(self.kept, directory)))
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
                f"see what requires another {build.name}: {self.tool.why}",
                tuple(f"{name} {versions}" for name, versions in backwards.items()),
            )


@contextmanager
def mirror_project(project: Project, contents: Mapping[str, bytes | None]) -> Iterator[Path]:
    """Create a temporary copy of a project for making a lock; it is removed when the block ends.

    Args:
        contents: content of the manifest and the lock, by file name; None to leave the file out.
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
    """Link into `root` the directories beside the project that its manifest or lock names ("../library")."""
    for name in set(re.findall(r"\.\./([\w.-]+)", text)) - {"..", ".", directory.name}:
        if (directory.parent / name).exists() and not (root / name).is_symlink():
            (root / name).symlink_to(directory.parent / name)


Locked = Mapping[str, frozenset[str]]
"""Versions by normalised name of the distribution; several if they depend on the platform or Python."""


def parse_locked_versions(text: str) -> Locked:
    """Return the versions in a uv.lock, poetry.lock or pdm.lock, whose `[[package]]` tables have name and version.

    Tables of other forms, which none of these tools writes, are ignored.

    Raises:
        ValueError: the text is not TOML.
    """
    from packaging.utils import canonicalize_name  # needed only to make a pin

    packages = toml_data(text).get("package", [])
    versions: dict[str, set[str]] = {}
    for package in packages if isinstance(packages, list) else ():
        match package:
            case {"name": str(name), "version": str(version)} if version:
                versions.setdefault(canonicalize_name(name), set()).add(version)
    return {name: frozenset(each) for name, each in versions.items()}


def find_downgrades(before: Locked, after: Locked, *, but: str) -> dict[str, str]:
    """Return the distributions for which the later lock has an older version than the newest in the earlier lock.

    Args:
        before: versions in the earlier lock.
        after: versions in the later lock.
        but: name of a distribution to ignore: the pinned one.

    Returns:
        The change of versions as text, by distribution: "2.5.5 -> 2.4.6".
    """
    found = {}
    for name in sorted((before.keys() & after.keys()) - {but}):
        was, now = (sorted(each[name], key=parse_version_number) for each in (before, after))
        newest = parse_version_number(was[-1])
        come_or_only = [*(after[name] - before[name]), now[-1]]
        if any(parse_version_number(version) < newest for version in come_or_only):
            found[name] = f"{', '.join(was)} -> {', '.join(now)}"
    return found
