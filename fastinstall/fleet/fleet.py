"""Data classes of a plan for many machines: its wheels, the hosts of each wheel, and the excluded hosts.

A set (one wheel for each CPython) is a fleet without hosts.
"""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.model.request import Request

FLEET_FILE = "fleet.json"
"""Name of the file in a wheelhouse that records which host takes which wheel."""


class Cause(StrEnum):
    """Why a host is excluded from the plan."""

    UNREADABLE = "unreadable"
    """Its facts file is invalid, damaged, or from a later fastinstall."""
    DUPLICATE = "duplicate"
    """Several facts files have its name."""
    STALE = "stale"
    """Its facts file is older than allowed."""
    ARCHITECTURE = "architecture"
    LIBC = "libc"
    IMPLEMENTATION = "implementation"
    PYTHON = "python"
    """The recipe does not support this version of Python."""
    PROTECTED = "protected"
    """Its environment is frozen, or is conda's base environment."""
    CPU = "cpu"
    """Its CPU is below the lowest level that is built."""
    MINIMUM_GLIBC = "minimum-glibc"
    """Its glibc is older than the finished wheel needs."""


@immutable
class ExcludedHost:
    """A host that no wheel is built for.

    Attributes:
        host: the host's name, from the facts file's content or, if that is unreadable, from the file's name.
        cause: the kind of reason, in one word.
        reason: why no wheel is built for the host, in a sentence.
        hint: how to have the host included.
        file: path of the facts file; empty if the reason concerns several files or none.
    """

    host: str
    cause: Cause
    reason: str
    hint: str
    file: str = ""


@immutable
class HostGroup:
    """Hosts that take the same wheel, run the same level of it, and have the same C library and CPU level.

    Attributes:
        python: minor version of Python, such as "3.11".
        abi: the interpreter's ABI tag, such as "cp311".
        architecture: the kernel's machine name, such as "x86_64".
        libc: the C library, "glibc" or "musl".
        libc_version: its version, such as "2.36".
        level: the highest level that the CPUs of the hosts have, such as "x86-64-v3"; empty if unknown.
        runs: the level that these hosts load; a wheel has a copy of the core for each of its levels.
        artefact: the `id` of the artefact that the hosts take.
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
    """One wheel of the plan, built or not.

    Attributes:
        id: its ABI and levels: "cp311-v2.v3".
        python: minor version of Python, such as "3.11".
        implementation: the interpreter's name, such as "cpython".
        abi: the interpreter's ABI tag, such as "cp311".
        architecture: the kernel's machine name, such as "x86_64".
        libc: the C library, "glibc" or "musl".
        minimum_glibc: the oldest glibc among its hosts, which the wheel must support; empty if unknown, and in a set.
        levels: the CPU levels in the wheel, the baseline first.
        directory: the wheel's directory, relative to the wheelhouse: "." for a wheel that every host with its Python
            can run, or the name of a level for a wheel that only some of them can run.
        reason: why it is built for these levels; empty in a set.
        hosts: names of the hosts that take it, sorted; empty in a set.
        builder: the interpreter on this machine that builds it; None if there is none, or if the wheel exists already.
        wheel: path of the wheel, relative to the wheelhouse; None until it is built.
        sha256: digest of the wheel, hexadecimal; empty until it is built.
        problem: why it was not or cannot be built; empty if there is no problem.
        hint: how to solve the problem.
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
    """The plan: which few artefacts serve many hosts. The same facts files and request give the same value.

    Attributes:
        summary: one line with the number of wheels, and of the hosts that they serve.
        request: the request for all wheels; it names levels only if the user did.
        groups: groups of similar hosts, the largest first; empty in a set.
        artefacts: the wheels, sorted by Python; those at the top of the wheelhouse come before those in subdirectories.
        left_out: hosts that no wheel is built for, sorted by name.
        notes: sentences for the user, such as hosts that will run a lower level than their CPU has.
    """

    summary: str
    request: Request
    groups: tuple[HostGroup, ...]
    artefacts: tuple[FleetArtefact, ...]
    left_out: tuple[ExcludedHost, ...] = ()
    notes: tuple[str, ...] = ()
