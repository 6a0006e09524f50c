"""Judge whether installing from a requirements or lock file would bring stock Pillow back. Pure.

A range that a build of fastinstall can satisfy is no finding: tools keep what is in place as long as it fits. One exact
version is a finding, because a build of ours has a label behind it, and an index has none with that label. Only entries
for Linux on the architecture of the machine that asks count: what other machines install is judged there.
"""

from collections.abc import Iterable
from pathlib import PurePath

from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.lockcheck.lock_kinds import LockKind
from fastinstall.lockcheck.locked_names import archive, bears_our_label, is_our_build, is_same_release
from fastinstall.model.finding import Remedy, Status


@immutable
class LockEntry:
    """One place of a file that names what provides PIL.

    Attributes:
        name: the distribution or conda package, normalised ("pillow", "pillow-simd", "pil").
        excerpt: the place, shortened to what matters ("pillow==13.0.0").
        line: where that stands, from 1.
        first: the line where the entry begins; a comment there, or on the line before, speaks of it. 0: on `line`.
        last: the line where it ends. 0: likewise.
        version: the one version that it allows; empty if it allows several.
        source: file, path or URL that it is taken from; empty if an index is asked.
        build: conda's build string, or a pattern of it; empty if it names none.
        is_conda: a conda package, and no distribution of Python's.
        hashes: "sha256:..." of the files that it allows; empty if it allows all.
        marker: when it is installed at all (PEP 508); empty for always.
        machine: the only one that it is for, as the kernel names it; empty for any.
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
    """What an installation from a file would do to the stack.

    Attributes:
        file: as it was named, or included.
        line: number of the line, counted from 1.
        excerpt: what stands there, shortened.
        status: `error` where stock Pillow would come, `hint` where that is not certain.
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
    """A file that was judged.

    Attributes:
        file: as it was named.
        kind: its format, by which it was read.
    """

    file: PurePath
    kind: LockKind


@immutable
class LockReport:
    """The verdict on files.

    Attributes:
        status: the gravest of the findings'.
        files: those that were named, in that order.
        findings: by file, then line.
    """

    status: Status
    files: tuple[LockedFile, ...]
    findings: tuple[LockFinding, ...] = ()


_PILLOW = "pillow"
_BRINGS = "installing from this file replaces the fast stack with it"
_OTHER_PIL = "{} overwrites the installed PIL with its own"


@immutable
class OurWheel:
    """A wheel of fastinstall's in a directory that a file names.

    Attributes:
        name: of the distribution, normalised.
        version: its version, with the label of our build.
        hash: the digest as pip writes it, "sha256:...".
    """

    name: str
    version: str
    hash: str


@immutable
class VerdictContext:
    """What an entry is judged by, besides itself.

    Attributes:
        kind: of the file that was named.
        machine: that something is installed on, as its kernel names it.
        wheels: of ours, where tools are told to look for wheels.
        looks: whether they are told to look anywhere but at an index.
        held: versions of ours that entries beside it hold to.
    """

    kind: LockKind
    machine: str
    wheels: tuple[OurWheel, ...] = ()
    looks: bool = False
    held: tuple[str, ...] = ()


def judge_entry(entry: LockEntry, file: PurePath, around: VerdictContext) -> LockFinding | None:
    """Judge an entry, or return None if nothing is wrong with it.

    Args:
        entry: that no comment accepts.
        file: path of the file that it stands in.
        around: what it is judged by.
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
    """List the versions of ours that entries hold to, each for everything that is read together with it."""
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
    """Tell whether a version of ours is one that is wanted: that very one, or any with its public part."""
    return wanted in ("", version) or (not bears_our_label(wanted) and is_same_release(wanted, version))


def _find_index_problem(entry: LockEntry, version: str, around: VerdictContext) -> str:
    """Return the problem if no wheel of ours is at hand, so that an index is asked; empty if there is none."""
    if entry.name != _PILLOW:
        return _OTHER_PIL.format(entry.name)
    # The branch of a lock for where ours cannot be: no two branches are for the same machine.
    if around.held and entry.marker:
        return ""
    if version and not any(is_same_release(version, held) for held in around.held):
        return f"{version} is stock Pillow: {_BRINGS}"
    return f"its hashes belong to stock Pillow: {_BRINGS}" if entry.hashes and not around.held else ""


def _find_version(entry: LockEntry) -> str:
    """Return the version by the file's name, which tells more than the entry: pdm writes the public part there."""
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
        kind: of the file that was named.
        entry: what the file asks for.
        file: path of the file that it stands in.
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
    """Tell whether a marker may hold on Linux on a machine, with any Python; one that cannot be read hides nothing."""
    if not any(word in marker for word in _OF_PLATFORMS) or "extra" in marker or "dependency_groups" in marker:
        return True
    from packaging.markers import InvalidMarker, Marker  # noqa: PLC0415 (slow, and rarely needed)

    try:
        read = Marker(marker)
    except InvalidMarker:
        return True
    return any(read.evaluate({**_LINUX, **versions, "platform_machine": machine}) for versions in _PYTHONS)
