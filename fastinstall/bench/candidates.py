"""What a loader is compared with: every candidate by its data, from what there is on the machine.

Stacks, decoders, settings, stores, and what helps together. Nothing is started here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from fastinstall.bench.catalogue import (
    SETTINGS,
    USUAL_PRIORITY,
    Adapter,
    ProcessVariables,
    StoreKind,
    all_adapters,
    all_kinds,
    variables_of,
)
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

OWN_LOADER = "own loader"
"""Instead of an adapter, where the user's own code loads."""
OFFICIAL_WHEEL = "official-wheel"
FASTINSTALL = "fastinstall"
TOGETHER = "together"
_PLAIN = "pillow"


@immutable
class CandidateRun:
    """A candidate, and what starts it.

    Attributes:
        candidate: as it is reported.
        site: directories in front of its path.
        store: what its images lie in; None for their files.
        formats: what it decodes, by Pillow's names; empty for all.
        uses_pillow: whether PIL takes part in it, whichever.
        scales: whether it gains by decoding at a part of the size.
        priority: the less, the earlier it is measured.
        absent: why it cannot be measured, known before it is tried; empty if it can.
        absence: what that makes of it.
    """

    candidate: Candidate
    site: tuple[Path, ...] = ()
    store: StoreKind | None = None
    formats: tuple[str, ...] = ()
    uses_pillow: bool = True
    scales: bool = False
    priority: int = USUAL_PRIORITY
    absent: str = ""
    absence: CandidateOutcome = CandidateOutcome.MISSING

    @property
    def name(self) -> str:
        """Of the candidate."""
        return self.candidate.name

    @property
    def can_be_joined(self) -> bool:
        """Whether another PIL and other settings can be added to it, with nothing but what is installed."""
        alone = self.site and self.candidate.kind is CandidateKind.DECODER
        return self.uses_pillow and self.store is None and not self.candidate.aliased and not alone


@immutable
class UnpackedPackages:
    """Another PIL, or what a decoder or a store needs, in a directory of its own.

    Attributes:
        title: of a PIL, for people: "pillow 13.0.0 (official wheel)".
        directory: that goes in front of the path; None if they are installed, or could not be had.
        absent: why they could not be had.
    """

    title: str = ""
    directory: Path | None = None
    absent: str = ""


@immutable
class Materials:
    """What candidates are made from.

    Attributes:
        machine: that they run on.
        variables: the environment variables that they start from.
        own_loader: whether the user's own code is the baseline.
        official: the official wheel, or None if it is installed already.
        fastinstall: our build, or None if it is installed already.
        libraries: packages that were brought or are missing, by the name of the adapter or store that needs them.
        adapters: the ways to decode.
        settings: of memory allocators.
        stores: what images can lie in.
    """

    machine: LoaderLimits
    variables: Mapping[str, str]
    own_loader: bool = False
    official: UnpackedPackages | None = None
    fastinstall: UnpackedPackages | None = None
    libraries: Mapping[str, UnpackedPackages] = field(default_factory=dict)
    adapters: tuple[Adapter, ...] = field(default_factory=all_adapters)
    settings: tuple[ProcessVariables, ...] = SETTINGS
    stores: tuple[StoreKind, ...] = field(default_factory=all_kinds)


def make_candidate_runs(materials: Materials) -> tuple[CandidateRun, ...]:
    """Everything that can be compared on this machine: stacks, decoders, settings, stores."""
    usual = OWN_LOADER if materials.own_loader else _PLAIN
    return (
        *_list_stacks(materials, usual),
        *(_make_decoder_run(each, materials) for each in materials.adapters if each.name != usual),
        *_list_settings(materials, usual),
        *(_make_store_run(each, materials) for each in materials.stores),
    )


def baseline_of(title: str, *, is_own_loader: bool) -> Candidate:
    """The environment as it is, or the user's own loader in it."""
    adapter = OWN_LOADER if is_own_loader else _PLAIN
    return Candidate(name="baseline", title=title, kind=CandidateKind.BASELINE, adapter=adapter, variables={})


def join_candidate_runs(parts: Sequence[CandidateRun]) -> CandidateRun:
    """Several that each help, at the same time: the stack, the decoder, all variables.

    Args:
        parts: one of a kind each.
    """
    by_kind = {each.candidate.kind: each for each in parts}
    decoder = by_kind.get(CandidateKind.DECODER, parts[0])
    stack = by_kind.get(CandidateKind.STACK)
    candidate = Candidate(
        name=TOGETHER,
        title=listing(each.name for each in parts) + " together",
        kind=CandidateKind.TOGETHER,
        adapter=decoder.candidate.adapter,
        stack=stack.candidate.stack if stack else "in place",
        variables={name: value for each in parts for name, value in each.candidate.variables.items()},
    )
    return CandidateRun(candidate=candidate, site=stack.site if stack else (), formats=decoder.formats)


def select_candidate_runs(found: Sequence[CandidateRun], names: Sequence[str]) -> tuple[CandidateRun, ...]:
    """Those with these names, all of them where none is named; what helps together needs all that could take part.

    Args:
        found: that there are on this machine.
        names: asked for.
    """
    joined = TOGETHER in names
    return tuple(each for each in found if not names or each.name in names or (joined and each.can_be_joined))


def _list_stacks(materials: Materials, adapter: str) -> Iterator[CandidateRun]:
    for name, label, packages, priority in (
        (FASTINSTALL, "fastinstall", materials.fastinstall, 20),
        (OFFICIAL_WHEEL, "official wheel", materials.official, 30),
    ):
        if packages is not None:
            candidate = Candidate(
                name=name, title=packages.title, kind=CandidateKind.STACK, adapter=adapter, stack=label, variables={}
            )
            yield _make_run(candidate, packages, priority=priority)


def _make_decoder_run(adapter: Adapter, materials: Materials) -> CandidateRun:
    packages = materials.libraries.get(adapter.name, UnpackedPackages())
    candidate = Candidate(
        name=adapter.name,
        title=adapter.title,
        kind=CandidateKind.DECODER,
        adapter=adapter.name,
        stack="its own" if packages.directory else "in place",
        variables={},
        aliased=adapter.aliased,
    )
    return _make_run(
        candidate,
        packages,
        formats=adapter.formats,
        uses_pillow="PIL" in adapter.modules,
        scales=adapter.scales,
        priority=adapter.priority,
    )


def _list_settings(materials: Materials, adapter: str) -> Iterator[CandidateRun]:
    for setting in materials.settings:
        variables = variables_of(setting, materials.machine, materials.variables)
        if variables:
            candidate = Candidate(
                name=setting.name, title=setting.title, kind=CandidateKind.SETTING, adapter=adapter, variables=variables
            )
            yield CandidateRun(candidate=candidate, priority=setting.priority)


def _make_store_run(kind: StoreKind, materials: Materials) -> CandidateRun:
    packages = materials.libraries.get(kind.name, UnpackedPackages())
    candidate = Candidate(
        name=kind.name,
        title=kind.title,
        kind=CandidateKind.STORAGE,
        adapter=OWN_LOADER if materials.own_loader and kind.in_files else _PLAIN,
        stack="its own" if packages.directory else "in place",
        variables={},
        storage=kind.name,
    )
    return _make_run(candidate, packages, store=kind, priority=kind.priority)


def _make_run(candidate: Candidate, packages: UnpackedPackages, **fields: Any) -> CandidateRun:  # noqa: ANN401
    """Fields are those of a CandidateRun."""
    site = (packages.directory,) if packages.directory else ()
    return CandidateRun(candidate=candidate, site=site, absent=packages.absent, **fields)
