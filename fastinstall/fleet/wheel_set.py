"""A set: one wheel for each CPython in use, in one directory that pip alone can install from."""

from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.fleet.fleet import FleetArtefact
from fastinstall.fleet.wheels import make_artefacts
from fastinstall.model.request import Request
from fastinstall.observe.session import Session
from fastinstall.setup.wheel import NO_EMULATION, Emulation
from fastinstall.wheelbuild.package_index.publish import require_wheelhouse


class WheelOutcome(StrEnum):
    """What came of a wheel of a set."""

    AVAILABLE = "available"
    """It was built, or was there already."""
    NO_INTERPRETER = "no-interpreter"
    """This machine does not have the Python that it would be built with."""
    FAILED = "failed"
    """It could not be built."""


@immutable
class SetWheel:
    """The wheel of a set for one CPython.

    Attributes:
        python: minor version of Python, such as "3.11".
        abi: the interpreter's ABI tag, such as "cp311"; "cp314t" of a free-threaded one.
        levels: the CPU levels in it, the baseline first.
        outcome: whether it is there.
        wheel: the name of its file; None if there is none.
        sha256: of the wheel, hexadecimal; empty if there is none.
        problem: why it is not there; empty if it is.
        hint: what to do about the problem.
    """

    python: str
    abi: str
    levels: tuple[str, ...]
    outcome: WheelOutcome
    wheel: str | None = None
    sha256: str = ""
    problem: str = ""
    hint: str = ""


@immutable
class WheelSet:
    """Wheels for several CPythons, in a directory that is a package index.

    Attributes:
        summary: how many of the wheels are there, in a line.
        request: what was built.
        directory: where the wheels and the pages of the index are.
        wheels: one for each CPython, the oldest first.
    """

    summary: str
    request: Request
    directory: PurePath
    wheels: tuple[SetWheel, ...]


def build_set(
    session: Session,
    wanted: tuple[FleetArtefact, ...],
    request: Request,
    directory: Path,
    emulation: Emulation = NO_EMULATION,
) -> WheelSet:
    """Build the wheels of a set that are not there yet. If one cannot be built, the others still are.

    Args:
        session: where variables, caches and directories come from.
        wanted: what `plan_set` has returned.
        request: the one that it was given.
        directory: made where it is missing; further wheels in it stay.
        emulation: how wheels for another architecture are proven.

    Raises:
        FailedError: the directory cannot be written, or a wheel in it is damaged.
        DocumentError: its SHA256SUMS cannot be read.
    """
    require_wheelhouse(directory)
    made = make_artefacts(session, wanted, request, directory, emulation)
    wheels = tuple(_report(artefact) for artefact in made)
    there = [wheel for wheel in wheels if wheel.outcome is WheelOutcome.AVAILABLE]
    summary = f"{len(there)} of {len(wheels)} wheels are there: {listing(wheel.abi for wheel in there) or 'none'}"
    return WheelSet(summary=summary, request=request, directory=directory, wheels=wheels)


def _report(artefact: FleetArtefact) -> SetWheel:
    failed = WheelOutcome.NO_INTERPRETER if artefact.builder is None else WheelOutcome.FAILED
    return SetWheel(
        python=artefact.python,
        abi=artefact.abi,
        levels=artefact.levels,
        outcome=failed if artefact.wheel is None else WheelOutcome.AVAILABLE,
        wheel=artefact.wheel,
        sha256=artefact.sha256,
        problem=artefact.problem,
        hint=artefact.hint,
    )
