"""The candidates that this machine can measure against the baseline: how each starts, or why it is absent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.bench.catalogue import FASTINSTALL, HUGE_PAGES, OFFICIAL_WHEEL, Way, all_ways
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

OWN_LOADER = "own loader"
"""Instead of an adapter, if the user's own code loads."""
_PLAIN = "pillow"
_STACKS = {FASTINSTALL: "fastinstall", OFFICIAL_WHEEL: "official wheel"}
_TUNABLES, _TUNABLE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
_GLIBC_WITH_HUGE_PAGES = (2, 35)


@immutable
class CandidateRun:
    """A candidate, and how to start it.

    Attributes:
        candidate: as it is reported.
        way: what it does; None for the control.
        site: directories at the front of its path.
        absent: why it cannot be measured, known before trying; empty if it can.
        absence: the outcome in that case.
        control: why it cannot change anything with these images; empty if it can.
    """

    candidate: Candidate
    way: Way | None = None
    site: tuple[Path, ...] = ()
    absent: str = ""
    absence: CandidateOutcome = CandidateOutcome.MISSING
    control: str = ""


@immutable
class UnpackedPackages:
    """Another PIL, or the packages of a decoder or a store, in a separate directory.

    Attributes:
        title: of a PIL, for people: "pillow 13.0.0 (official wheel)".
        directory: for the front of the path; None if they are installed, or unavailable.
        absent: why they are unavailable.
    """

    title: str = ""
    directory: Path | None = None
    absent: str = ""


def baseline_of(title: str, *, is_own_loader: bool) -> Candidate:
    """Return the baseline: Pillow as the environment has it, or the user's own loader."""
    adapter = OWN_LOADER if is_own_loader else _PLAIN
    return Candidate(name="baseline", title=title, kind=CandidateKind.BASELINE, adapter=adapter, variables={})


def make_control_run(*, is_own_loader: bool) -> CandidateRun:
    """Return the baseline once more, in another process, to measure how much the machine varies."""
    candidate = replace(baseline_of("the same again", is_own_loader=is_own_loader), name="control")
    return CandidateRun(candidate=candidate, control="it is the baseline again")


def require_known(names: Sequence[str]) -> None:
    """Require that these are names of candidates.

    Raises:
        UsageError: one is not.
    """
    known = [way.name for way in all_ways()]
    for name in names:
        if name not in known:
            raise UsageError(f"no candidate is named {name!r}", hint=f"choose from: {', '.join(known)}")


def make_candidate_runs(
    machine: LoaderLimits,
    variables: Mapping[str, str],
    packages: Mapping[str, UnpackedPackages | None],
    *,
    is_own_loader: bool = False,
    names: Sequence[str] = (),
) -> tuple[CandidateRun, ...]:
    """Return everything that can be compared on this machine, or the named candidates alone.

    Args:
        machine: the machine that runs them.
        variables: their initial environment variables.
        packages: by name of the candidate: fetched or missing ones; None for a build that is installed already.
        is_own_loader: whether the user's own code is the baseline.
        names: of candidates; those that are nothing here have a reason. Empty for all.
    """
    ways = [way for way in all_ways() if not names or way.name in names]
    runs = [_make_run(way, packages, machine, variables, is_own_loader=is_own_loader) for way in ways]
    return tuple(run for run in runs if names or run.absence is not CandidateOutcome.UNSUITED)


def _make_run(
    way: Way,
    packages: Mapping[str, UnpackedPackages | None],
    machine: LoaderLimits,
    variables: Mapping[str, str],
    *,
    is_own_loader: bool,
) -> CandidateRun:
    usual = OWN_LOADER if is_own_loader else _PLAIN
    packages_of_way = packages.get(way.name, UnpackedPackages())
    needed = packages_of_way or UnpackedPackages()
    settings = huge_pages_variables(machine, variables) if way.name == HUGE_PAGES else {}
    unsuited = ""
    if packages_of_way is None:
        unsuited = "it is installed already"
    elif way.name == usual:
        unsuited = "it is the baseline"
    elif way.name == HUGE_PAGES and not settings:
        unsuited = "it is set already, or unknown to this system"
    by_adapter = {
        CandidateKind.DECODER: way.name,
        CandidateKind.STORAGE: usual if way.in_files else _PLAIN,
    }
    candidate = Candidate(
        name=way.name,
        title=needed.title or way.title,
        kind=way.kind,
        adapter=by_adapter.get(way.kind, usual),
        stack=_STACKS.get(way.name, "its own" if needed.directory else "in place"),
        variables=settings,
        storage=way.name if way.kind is CandidateKind.STORAGE else "files",
        aliased=way.aliased,
    )
    site = (needed.directory,) if needed.directory else ()
    if unsuited:
        return CandidateRun(candidate=candidate, way=way, absent=unsuited, absence=CandidateOutcome.UNSUITED)
    return CandidateRun(candidate=candidate, way=way, site=site, absent=needed.absent)


def huge_pages_variables(machine: LoaderLimits, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that give large blocks huge pages; empty if they are set, or not supported here."""
    known = tuple(int(each) for each in machine.libc_version.split(".")[:2] if each.isdigit())
    before = [each for each in variables.get(_TUNABLES, "").split(":") if each]
    if known < _GLIBC_WITH_HUGE_PAGES or machine.huge_pages in ("", "never") or _TUNABLE in before:
        return {}
    return {_TUNABLES: ":".join((*before, _TUNABLE))}


_KINDS = tuple(CandidateKind)
"""Between equal promises, the earlier kind is measured first."""


def sort_by_promise(candidate_runs: Sequence[CandidateRun], scale: float) -> list[CandidateRun]:
    """Sort by promise: if time runs out, the least helpful ones should be left.

    The priorities come from what helped in measurements (2026-11-22, three workloads).

    Args:
        candidate_runs: candidates in any order.
        scale: how many times the requested size the images have.
    """

    def rank(run: CandidateRun) -> tuple[bool, int, int]:
        way = run.way
        return (way is not None and way.scales > scale, way.priority if way else 0, _KINDS.index(run.candidate.kind))

    return sorted(candidate_runs, key=rank)
