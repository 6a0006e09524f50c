"""Choose the candidates to measure on a machine, their environment variables, and the order of measurement."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fastinstall.bench.catalogue import FASTINSTALL, HUGE_PAGES, OFFICIAL_WHEEL, USUAL_PRIORITY, all_ways, way_named
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome
from fastinstall.core.errors import UsageError
from fastinstall.model.machine import LoaderLimits

OWN_LOADER = "own loader"
"""Value of `Candidate.adapter` for candidates that load with the user's own code."""
_PLAIN = "pillow"
_STACKS = {FASTINSTALL: "fastinstall", OFFICIAL_WHEEL: "official wheel"}
_TUNABLES, _TUNABLE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
_GLIBC_WITH_HUGE_PAGES = (2, 35)


def baseline_of(title: str, *, is_own_loader: bool) -> Candidate:
    """Return the baseline: the environment's Pillow, or the user's own loader."""
    adapter = OWN_LOADER if is_own_loader else _PLAIN
    return Candidate(name="baseline", title=title, kind=CandidateKind.BASELINE, adapter=adapter)


def control_of(baseline: Candidate) -> Candidate:
    """Return a copy of the baseline to measure in another process; the result shows how much the machine varies."""
    return replace(baseline, name="control", title="the same again", kind=CandidateKind.CONTROL)


def require_known(names: Sequence[str]) -> None:
    """Raise if a name is not that of a candidate.

    Raises:
        UsageError: a name is unknown.
    """
    known = [way.name for way in all_ways()]
    for name in names:
        if name not in known:
            raise UsageError(f"no candidate is named {name!r}", hint=f"choose from: {', '.join(known)}")


def plan_candidates(
    machine: LoaderLimits, variables: Mapping[str, str], *, is_own_loader: bool = False
) -> tuple[Candidate, ...]:
    """Return all candidates; those that would change nothing on this machine are marked unsuited.

    Args:
        machine: the machine that runs the candidates.
        variables: the environment variables of this process.
        is_own_loader: whether the user's own code is the baseline.
    """
    usual = OWN_LOADER if is_own_loader else _PLAIN
    candidates = []
    for way in all_ways():
        store = way.name if way.kind is CandidateKind.STORAGE else ""
        adapter = way.name if way.kind is CandidateKind.DECODER else usual
        candidate = Candidate(
            name=way.name,
            title=way.title,
            kind=way.kind,
            adapter=_PLAIN if store and not way.in_files else adapter,
            stack=_STACKS.get(way.name, "in place"),
            variables=huge_pages_variables(machine, variables) if way.name == HUGE_PAGES else {},
            storage=store or "files",
            aliased=way.aliased,
        )
        if way.name == usual:
            candidate = unsuited(candidate, "it is the baseline")
        elif way.name == HUGE_PAGES and not candidate.variables:
            candidate = unsuited(candidate, "it is set already, or unknown to this system")
        candidates.append(candidate)
    return tuple(candidates)


def select_candidates(candidates: Sequence[Candidate], names: Sequence[str]) -> tuple[Candidate, ...]:
    """Return the candidates with these names; if there are no names, all candidates except the unsuited ones."""
    if names:
        return tuple(each for each in candidates if each.name in names)
    return tuple(each for each in candidates if each.outcome is not CandidateOutcome.UNSUITED)


def unsuited(candidate: Candidate, reason: str) -> Candidate:
    """Return the candidate marked as not measured, because it would change nothing or cannot load these images."""
    return replace(candidate, outcome=CandidateOutcome.UNSUITED, reason=reason)


def missing(candidate: Candidate, reason: str) -> Candidate:
    """Return the candidate marked as not measured, because its packages are not available."""
    return replace(candidate, outcome=CandidateOutcome.MISSING, reason=reason)


def huge_pages_variables(machine: LoaderLimits, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that make glibc use huge pages for large blocks.

    The result is empty if they are set already, or if glibc or the kernel does not support that.
    """
    known = tuple(int(each) for each in machine.libc_version.split(".")[:2] if each.isdigit())
    before = [each for each in variables.get(_TUNABLES, "").split(":") if each]
    if known < _GLIBC_WITH_HUGE_PAGES or machine.huge_pages in ("", "never") or _TUNABLE in before:
        return {}
    return {_TUNABLES: ":".join((*before, _TUNABLE))}


def sort_by_promise(candidates: Sequence[Candidate], scale: float) -> list[Candidate]:
    """Sort candidates by expected gain, the largest first, so that the least helpful are left out if time is short.

    The expected gain is the priority of a candidate, which comes from measurements (2026-11-22, three workloads).
    Candidates that need larger images than these come last.

    Args:
        candidates: candidates in any order.
        scale: shorter side of the images, as a multiple of the requested one.
    """
    kinds = list(CandidateKind)  # among equal priorities, the earlier kind comes first

    def rank(candidate: Candidate) -> tuple[bool, int, int]:
        way = way_named(candidate.name)
        scales, priority = (way.scales, way.priority) if way else (0, USUAL_PRIORITY)
        return scales > scale, priority, kinds.index(candidate.kind)

    return sorted(candidates, key=rank)
