"""List the ways to load images, and choose those to measure on a machine, in order.

The ways are builds of Pillow, decoders of `adapters/`, a setting of glibc, and stores of `_stores/`. This module
imports the files of decoders and stores for their constants; it imports nothing from a target.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from fastinstall.bench import _stores, adapters
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

FASTINSTALL = "fastinstall"
OFFICIAL_WHEEL = "official-wheel"
HUGE_PAGES = "huge-pages"
OWN_LOADER = "own loader"
"""Value of `Candidate.adapter` for candidates that load with the user's own code."""
PLAIN = "pillow"
"""The adapter that the baseline uses, if the user has no loader."""
_TUNABLES, _TUNABLE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
_GLIBC_WITH_HUGE_PAGES = (2, 35)


@immutable
class Way:
    """One way to load images. The docstrings of `adapters/` and `_stores/` explain the constants of their files.

    Attributes:
        name: stable name in kebab case.
        title: the name in tables and advice.
        kind: which part of the environment this way changes.
        modules: modules that must be importable in the target.
        brings: requirements that provide the modules.
        sdists: requirements that are only published as source distributions, in pure Python.
        by_hand: why the requirements are never fetched into our cache; empty if they may be.
        priority: place in the order of measurement; lower numbers come earlier.
        code: a line of code that shows the use; empty for builds, settings and stores.
        file: path of the adapter's or store's module; `Path()` for builds and settings.
        formats: formats that can be decoded, by Pillow's names; empty for all that Pillow opens.
        aliased: whether the resize skips pixels, so that the picture differs.
        scales: the size from which an image is reduced before the resize, as a multiple of the requested size; 0 if
            this way never does so.
        loader: for an adapter: source of a module with a function `load(path)`.
        caveat: for a store: what the user should know before choosing it.
        in_files: for a store: whether every image has its own file, so that any loader can read it.
        settings: for a store: which of "shorter" and "filter" affect the stored images.
    """

    name: str
    title: str
    kind: CandidateKind
    modules: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()
    sdists: tuple[str, ...] = ()
    by_hand: str = ""
    priority: int = 1000
    code: str = ""
    file: Path = Path()
    formats: tuple[str, ...] = ()
    aliased: bool = False
    scales: float = 0
    loader: str = ""
    caveat: str = ""
    in_files: bool = False
    settings: tuple[str, ...] = ()

    @property
    def batched(self) -> bool:
        """Whether this way loads whole batches, on its own threads."""
        return "\ndef batches(" in self.loader


@cache
def all_ways() -> dict[str, Way]:
    """Return every way to load images, by name: builds, decoders, settings, stores.

    Pillow's decoders come before other decoders. Stores are in the order of measurement.
    """
    stack, setting = CandidateKind.STACK, CandidateKind.SETTING
    decoders, stores = _read_files(adapters, CandidateKind.DECODER), _read_files(_stores, CandidateKind.STORAGE)
    ways = (
        Way(name=FASTINSTALL, title="fastinstall's build, not yet installed", kind=stack, priority=20),
        Way(name=OFFICIAL_WHEEL, title="the newest official wheel of Pillow", kind=stack, priority=30),
        *sorted(decoders, key=lambda each: (not each.name.startswith("pillow"), each.name)),
        Way(name=HUGE_PAGES, title="huge pages for large blocks (glibc)", kind=setting, priority=40),
        *sorted(stores, key=lambda each: (each.priority, each.name)),
    )
    return {way.name: way for way in ways}


def _read_files(package: ModuleType, kind: CandidateKind) -> Iterator[Way]:
    """Yield a `Way` for each public file of a package; the file's constants, in capitals, are the fields' values."""
    for file in pkgutil.iter_modules(package.__path__):
        if not file.name.startswith("_"):
            module = importlib.import_module(f"{package.__name__}.{file.name}")
            values: dict[str, Any] = {
                each.name: getattr(module, each.name.upper(), each.default) for each in fields(Way)
            }
            values.update(name=file.name.replace("_", "-"), kind=kind, file=Path(str(module.__file__)))
            yield Way(**values)


def require_known(names: Sequence[str]) -> None:
    """Check that every name is the name of a candidate.

    Raises:
        UsageError: a name is unknown.
    """
    for name in names:
        if name not in all_ways():
            raise UsageError(f"no candidate is named {name!r}", hint=f"choose from: {', '.join(all_ways())}")


def plan_candidates(
    machine: LoaderLimits, variables: Mapping[str, str], *, is_own_loader: bool = False
) -> tuple[Candidate, ...]:
    """Return all candidates; those that would change nothing on this machine are marked unsuited.

    Args:
        machine: the machine that runs the candidates.
        variables: the environment variables of this process.
        is_own_loader: whether the user's own code is the baseline.
    """
    usual = OWN_LOADER if is_own_loader else PLAIN
    stacks = {FASTINSTALL: "fastinstall", OFFICIAL_WHEEL: "official wheel"}
    candidates = []
    for way in all_ways().values():
        store = way.name if way.kind is CandidateKind.STORAGE else ""
        adapter = way.name if way.kind is CandidateKind.DECODER else usual
        candidate = Candidate(
            name=way.name,
            title=way.title,
            kind=way.kind,
            adapter=PLAIN if store and not way.in_files else adapter,
            stack=stacks.get(way.name, "in place"),
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

    The result is empty if the variables are already set, or if glibc or the kernel does not support huge pages.
    """
    known = tuple(int(each) for each in machine.libc_version.split(".")[:2] if each.isdigit())
    before = [each for each in variables.get(_TUNABLES, "").split(":") if each]
    if known < _GLIBC_WITH_HUGE_PAGES or machine.huge_pages in ("", "never") or _TUNABLE in before:
        return {}
    return {_TUNABLES: ":".join((*before, _TUNABLE))}


def sort_by_promise(candidates: Sequence[Candidate], scale: float) -> list[Candidate]:
    """Sort candidates by expected gain, the largest first, so that the least helpful are left out if time is short.

    The priority of a candidate stands for its expected gain, and comes from measurements (2026-11-22, three workloads).
    Candidates that only help with larger images come last.

    Args:
        candidates: candidates in the order of `all_ways`.
        scale: shorter side of the images, as a multiple of the requested one.
    """
    ways = all_ways()
    return sorted(candidates, key=lambda each: (ways[each.name].scales > scale, ways[each.name].priority))
