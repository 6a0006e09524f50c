"""The plan for many machines as values: the few wheels, which machine takes which, and who is left out.

A set, one wheel for each CPython, is a fleet that names no hosts.
"""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.model.request import Request

FLEET_FILE = "fleet.json"
"""In a wheelhouse: which host takes which wheel of it."""


class Cause(StrEnum):
    """Why a host is left out."""

    UNREADABLE = "unreadable"
    """Its document is invalid, damaged, or from a later fastinstall."""
    DUPLICATE = "duplicate"
    """Several documents have its name."""
    STALE = "stale"
    """Its document is older than allowed."""
    ARCHITECTURE = "architecture"
    LIBC = "libc"
    IMPLEMENTATION = "implementation"
    PYTHON = "python"
    """The recipe does not support this version of Python."""
    PROTECTED = "protected"
    """Its environment is frozen, or conda's own."""
    CPU = "cpu"
    """It is below the lowest level that is built."""
    MINIMUM_GLIBC = "minimum-glibc"
    """Its C library is older than what the finished wheel needs."""


@immutable
class ExcludedHost:
    """A host that nothing is built for.

    Attributes:
        host: the host's name, as its document bears it.
        cause: the kind of reason, in one word.
        reason: why nothing is built for it, in a sentence.
        hint: what to do about it.
        file: its document, with the line where it is one of several; empty if there are several.
    """

    host: str
    cause: Cause
    reason: str
    hint: str
    file: str = ""


@immutable
class HostGroup:
    """Hosts that are alike.

    Attributes:
        python: minor version of Python, such as "3.11".
        abi: the interpreter's ABI tag, such as "cp311".
        architecture: the kernel's machine name, such as "x86_64".
        libc: which C library, "glibc" or "musl".
        libc_version: the oldest among the hosts, such as "2.36".
        level: the highest x86-64 level that their CPUs have.
        runs: the level of the copy that their loader takes.
        artefact: the `id` of the artefact that they take.
        hosts: names of the hosts, in alphabetical order.
    """

    python: str
    abi: str
    architecture: str
    libc: str
    libc_version: str
    level: str
    runs: str
    artefact: str
    hosts: tuple[str, ...]


@immutable
class FleetArtefact:
    """One wheel that is to be built, or was.

    Attributes:
        id: "cp311-v2.v3": its ABI and its levels.
        python: minor version of Python, such as "3.11".
        implementation: the interpreter's name, such as "cpython".
        abi: the interpreter's ABI tag, such as "cp311".
        architecture: the kernel's machine name, such as "x86_64".
        libc: which C library, "glibc" or "musl".
        minimum_glibc: the oldest C library that it has to run on.
        levels: the CPU levels in it, the baseline first.
        directory: of the wheelhouse where it lies, relative to the top: "." or the name of a level. A wheel for one
            level lies apart where another, which any of the hosts can take, lies at the top.
        reason: why it is built for these levels; empty in a set.
        hosts: who takes it, sorted; none in a set.
        builder: the interpreter on this machine that it is built with; None if there is none.
        wheel: its path in the wheelhouse, once it is there.
        sha256: of the wheel, hexadecimal; empty if there is none.
        problem: why it is not there; empty if nothing is in its way.
        hint: what to do about the problem.
    """

    id: str
    python: str
    implementation: str
    abi: str
    architecture: str
    libc: str
    minimum_glibc: str
    levels: tuple[str, ...]
    directory: str
    reason: str
    hosts: tuple[str, ...]
    builder: PurePath | None = None
    wheel: str | None = None
    sha256: str = ""
    problem: str = ""
    hint: str = ""


@immutable
class Fleet:
    """Which few artefacts serve many hosts. The same documents and requests give the same value.

    Attributes:
        summary: how few wheels serve how many hosts, or how many wheels of a set exist, in a line.
        request: what is built; its levels only where they were asked for.
        groups: hosts that are alike, the largest group first; none in a set.
        artefacts: by Python, what lies at the top of the wheelhouse first.
        left_out: hosts that nothing is built for, by name.
        notes: what is worth knowing.
    """

    summary: str
    request: Request
    groups: tuple[HostGroup, ...]
    artefacts: tuple[FleetArtefact, ...]
    left_out: tuple[ExcludedHost, ...] = ()
    notes: tuple[str, ...] = ()
