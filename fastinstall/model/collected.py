"""Reports of doctor from many machines, summed up."""

from enum import StrEnum

from fastinstall.model.finding import Remedy, Status
from fastinstall.model.immutable import immutable


class Absence(StrEnum):
    """Why a host has no report that counts."""

    MISSING = "missing"
    """It is expected, and there is none."""
    OLD = "old"
    UNREADABLE = "unreadable"
    """Its document is none of doctor's, is damaged, or was written by a later fastinstall."""
    UNOBSERVABLE = "unobservable"
    """Doctor ran there, and could not look at the environment."""


@immutable
class Unreported:
    """A host whose state nobody knows.

    Attributes:
        host: its name.
        absence: in one word.
        reason: in a sentence.
        hint: what to do about it.
        file: its document; empty where there is none.
    """

    host: str
    absence: Absence
    reason: str
    hint: str
    file: str = ""


@immutable
class SharedFinding:
    """A finding that one or more hosts have.

    Attributes:
        check: stable name of the check.
        status: the verdict, the same on all of them.
        message: the same on all of them, with PREFIX for the environment's.
        hosts: their names, sorted.
        remedy: what to do, as one of them says it, with PREFIX likewise; None where nothing is to be done.
    """

    check: str
    status: Status
    message: str
    hosts: tuple[str, ...]
    remedy: Remedy | None = None


@immutable
class HostReport:
    """What counts of the report of one host.

    Attributes:
        host: its name.
        status: the gravest of its environments'.
        findings: those that are not ok, each for this host alone.
        written: when, in seconds since the epoch.
        unobservable: environments of it that could not be looked at, with the reason.
    """

    host: str
    status: Status
    findings: tuple[SharedFinding, ...]
    written: float
    unobservable: tuple[str, ...] = ()


@immutable
class Collected:
    """The state of many machines.

    Attributes:
        summary: one line.
        status: the gravest of the hosts'; one without a report weighs as `unknown`.
        hosts: names by status, the gravest status first; only those that any host has.
        findings: the gravest first, then those of most hosts; what is ok is left out.
        unreported: hosts whose state nobody knows, by name.
        unexpected: hosts with a report that were not expected, where it was said which are.
    """

    summary: str
    status: Status
    hosts: dict[str, tuple[str, ...]]
    findings: tuple[SharedFinding, ...] = ()
    unreported: tuple[Unreported, ...] = ()
    unexpected: tuple[str, ...] = ()
