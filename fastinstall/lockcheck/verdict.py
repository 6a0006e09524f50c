"""Judge whether installing from a requirements or lock file would bring stock Pillow back. Pure.

A version range that a build of fastinstall satisfies is accepted, because tools keep an installed version that fits. An
exact version without a label is a finding: fastinstall's builds have a label in their version, so only stock Pillow
matches. Entries for systems other than Linux, or other architectures than the given machine's, are ignored.
"""

from collections.abc import Iterable
from pathlib import PurePath

from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.lockcheck.lock_names import LockKind, archive, bears_our_label, is_our_build, is_same_release
from fastinstall.model.finding import Remedy, Status


@immutable
class LockEntry:
    """An entry of a file for a distribution or conda package that provides PIL.

    Attributes:
        name: name of the distribution or conda package, normalised ("pillow", "pillow-simd", "pil").
        excerpt: the entry, shortened for messages ("pillow==13.0.0").
        line: number of the line that has the text of `excerpt`, counted from 1.
        first: the entry's first line; 0 if that is `line`. A comment on this line, or on the line before, can accept
            the entry.
        last: the entry's last line; 0 if that is `line`.
        version: the only version that the entry allows; empty if it allows several.
        source: path or URL of the file to install; empty to install from an index.
        build: conda's build string, or a pattern for it; empty if the entry names none.
        is_conda: whether the entry is for a conda package rather than a Python distribution.
        hashes: allowed digests of files, "sha256:..."; empty if any file is allowed.
        marker: environment marker (PEP 508); empty if the entry always applies.
        machine: the only architecture that the entry is for, as the kernel names it; empty for any.
    """

    name: str
    excerpt: str
    line: int
    first: int = 0
    last: int = 0
    version: str = ""
    source: str = ""
    build: str = ""
    is_conda: bool = False
    hashes: tuple[str, ...] = ()
    marker: str = ""
    machine: str = ""


@immutable
class LockFinding:
    """A problem that a line of a file causes when somebody installs from the file.

    Attributes:
        file: path of the file, as the user or the including file gives it.
        line: number of the line, from 1.
        excerpt: the entry, shortened.
        status: `error` if stock Pillow would be installed or the installation would fail, `hint` if that is uncertain.
        message: what an installation would do, in one sentence.
        remedy: what to change, with a command if there is one.
    """

    file: PurePath
    line: int
    excerpt: str
    status: Status
    message: str
    remedy: Remedy


@immutable
class LockedFile:
    """A file that was checked.

    Attributes:
        file: its path, as the user gave it.
        kind: its format.
    """

    file: PurePath
    kind: LockKind


@immutable
class LockReport:
    """The result of checking files.

    Attributes:
        status: the gravest status of the findings; `ok` if there are none.
        files: the files that the user named, in that order.
        findings: the problems, in the order of the files.
    """

    status: Status
    files: tuple[LockedFile, ...]
    findings: tuple[LockFinding, ...] = ()


_PILLOW = "pillow"
_BRINGS = "installing from this file replaces the fast stack with it"
_OTHER_PIL = "{} overwrites the installed PIL with its own"


@immutable
class OurWheel:
    """A wheel built by fastinstall, found in a directory that a checked file names.

    Attributes:
        name: name of the distribution, normalised.
        version: its version, with the label of a fastinstall build.
        hash: its digest as pip writes it, "sha256:..."; empty if no entry has hashes.
    """

    name: str
    version: str
    hash: str


@immutable
class VerdictContext:
    """The context in which an entry is judged.

    Attributes:
        kind: the format of the file that the user named.
        machine: the architecture to install on, as the kernel names it.
        wheels: fastinstall's wheels in the directories that the files name for the search.
        looks: whether the files name directories or URLs to search besides an index.
        held: versions of fastinstall builds that entries of the same files require exactly.
    """

    kind: LockKind
    machine: str
    wheels: tuple[OurWheel, ...] = ()
    looks: bool = False
    held: tuple[str, ...] = ()


def judge_entry(entry: LockEntry, file: PurePath, around: VerdictContext) -> LockFinding | None:
    """Return the problem of an entry, or None if nothing is wrong with the entry.

    Args:
        entry: an entry that no comment accepts.
        file: path of the file that has the entry.
        around: the context of the entry.
    """
    if entry.machine not in ("", around.machine) or not may_apply(entry.marker, around.machine):
        return None
    problem = _find_conda_problem(entry) if entry.is_conda else _find_python_problem(entry, around)
    doubt = "" if problem else _explain_doubt(entry, around)
    if not problem and not doubt:
        return None
    return LockFinding(
        file=file,
        line=entry.line,
        excerpt=entry.excerpt,
        status=Status.ERROR if problem else Status.HINT,
        message=problem or doubt,
        remedy=remedy_for(around.kind, entry, file) if problem else _BESIDE[entry.is_conda],
    )


def list_held_versions(entries: Iterable[LockEntry]) -> tuple[str, ...]:
    """Return the versions of fastinstall builds that entries require exactly, each once."""
    return tuple(dict.fromkeys(version for entry in entries if bears_our_label(version := _find_version(entry))))


def _find_conda_problem(entry: LockEntry) -> str:
    if is_our_build(entry.build) or (entry.name == _PILLOW and not entry.build):
        return ""
    if entry.name != _PILLOW:
        return _OTHER_PIL.format(entry.name)
    return f"the build {entry.build} is not a fastinstall build: {_BRINGS}"


def _find_python_problem(entry: LockEntry, around: VerdictContext) -> str:
    version = _find_version(entry)
    ours = bears_our_label(version)
    if entry.source and not ours:
        return f"the file there is not a fastinstall build: {_BRINGS}"
    wheels = [wheel for wheel in around.wheels if wheel.name == entry.name and _is_met(version, wheel.version)]
    if wheels:
        held = not entry.hashes or any(wheel.hash in entry.hashes for wheel in wheels)
        left_out = f"its hashes do not include the available fastinstall build ({wheels[0].version})"
        return "" if held else f"{left_out}: pip rejects it"
    return "" if ours else _find_index_problem(entry, version, around)


def _is_met(wanted: str, version: str) -> bool:
    """Return whether a fastinstall version is the wanted version, or of the same release if `wanted` has no label."""
    return wanted in ("", version) or (not bears_our_label(wanted) and is_same_release(wanted, version))


def _find_index_problem(entry: LockEntry, version: str, around: VerdictContext) -> str:
    """Return the problem of an entry that is installed from an index because no local fastinstall wheel fits.

    The result is empty if there is no problem.
    """
    if entry.name != _PILLOW:
        return _OTHER_PIL.format(entry.name)
    # A lock may have another entry, with another marker, for machines where the fastinstall build does not run.
    if around.held and entry.marker:
        return ""
    if version and not any(is_same_release(version, held) for held in around.held):
        return f"{version} is stock Pillow: {_BRINGS}"
    return f"its hashes belong to stock Pillow: {_BRINGS}" if entry.hashes and not around.held else ""


def _find_version(entry: LockEntry) -> str:
    """Return the version in the source's file name, which has the label even in a pdm lock, or else the entry's."""
    return archive(entry.source)[1] or entry.version


def _explain_doubt(entry: LockEntry, around: VerdictContext) -> str:
    if entry.is_conda:
        exact = entry.version and not entry.build
        return f"the solver may pick any build of {entry.version}, including stock Pillow" if exact else ""
    found = (
        around.looks or entry.source or around.kind is not LockKind.REQUIREMENTS or not bears_our_label(entry.version)
    )
    return "" if found else "no line says where to find this wheel: the installation fails unless pip's settings do"


_BESIDE = {
    True: Remedy(text="require the build too: pillow=*=simd_*"),
    False: Remedy(text="add a line with its directory: --find-links wheels"),
}


_PROJECTS = (LockKind.UV, LockKind.POETRY, LockKind.PDM, LockKind.PIXI)
ACCEPTED = "fastinstall: stock"
"""The comment that accepts stock Pillow, on the line of an entry or the one before."""


def remedy_for(kind: LockKind, entry: LockEntry, file: PurePath) -> Remedy:
    """Return the remedy for an entry.

    Args:
        kind: the format of the file that the user named.
        entry: the entry with the problem.
        file: path of the file that has the entry.
    """
    if entry.name != "pillow":
        return Remedy(text="require pillow instead: fastinstall's builds have that name and contain the SIMD kernels")
    if kind in _PROJECTS:
        return Remedy(
            text="pin the stack in this project: the change, with its lock file, is printed",
            command=f"fastinstall guard pin --project {quote(file.parent)} | git -C {quote(file.parent)} apply",
        )
    if entry.is_conda:
        how = "list it first among the channels, and require pillow=*=simd_*"
        if kind is not LockKind.ENVIRONMENT:
            how = "require pillow=*=simd_* from it, and lock again"
        return Remedy(
            text=f"create a channel with the build, {how}", command="fastinstall build --format conda -o channel"
        )
    version = entry.version.partition("+")[0]
    wanted = f" --version {quote(version)}" if version else ""
    command = f"fastinstall build -o {quote(file.parent / 'wheels')}{wanted}"
    return Remedy(text=_OF_WHEELS.get(kind, _REQUIREMENTS), command=command)


_REQUIREMENTS = (
    "build a wheel, add the line --find-links wheels, and remove the hashes or use the wheel's; "
    f"to accept stock Pillow here, add the comment # {ACCEPTED}"
)
_OF_WHEELS = {
    LockKind.PYLOCK: "build a wheel, and lock again with --find-links wheels",
    LockKind.ENVIRONMENT: "build a wheel, and add - --find-links wheels to the pip list",
}


_OF_PLATFORMS = ("sys_platform", "platform_", "os_name")
_LINUX = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux"}
_PYTHONS = tuple(
    {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.0", "implementation_version": f"3.{minor}.0"}
    for minor in range(8, 16)
)


def may_apply(marker: str, machine: str) -> bool:
    """Return whether a marker is true with some Python on Linux on the architecture `machine`.

    The result is also True if the marker is invalid, names no platform, or depends on extras or dependency groups.
    """
    if not any(word in marker for word in _OF_PLATFORMS) or "extra" in marker or "dependency_groups" in marker:
        return True
    from packaging.markers import InvalidMarker, Marker  # slow to import, and rarely needed

    try:
        read = Marker(marker)
    except InvalidMarker:
        return True
    return any(read.evaluate({**_LINUX, **versions, "platform_machine": machine}) for versions in _PYTHONS)
