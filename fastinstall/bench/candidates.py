"""What a loader is compared with: every candidate by its data, from what there is on the machine.

Stacks, decoders, settings, stores, and what helps together. Nothing is started here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

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
class BenchStack:
    """Another PIL, unpacked.

    Attributes:
        title: for people: "pillow 13.0.0 (official wheel)".
        directory: prepended to the path, or None if it could not be made.
        absent: why, where it could not.
    """

    title: str
    directory: Path | None = None
    absent: str = ""


@immutable
class ComparableStacks:
    """What a PIL can be compared with.

    Attributes:
        official: the newest official wheel, or None if it is installed already.
        ours: our build, or None if it is installed already.
    """

    official: BenchStack | None = None
    ours: BenchStack | None = None


@immutable
class DecoderPackages:
    """Packages that a way to decode needs, other than as they are installed.

    Attributes:
        directory: in our cache, that goes in front of the path; None if they could not be had.
        absent: why.
    """

    directory: Path | None = None
    absent: str = ""


OFFICIAL_WHEEL = "official-wheel"
FASTINSTALL = "fastinstall"
TOGETHER = "together"
_PLAIN = "pillow"
_PIL = "PIL"


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
    official: BenchStack | None = None
    fastinstall: BenchStack | None = None
    libraries: Mapping[str, DecoderPackages] = field(default_factory=dict)
    adapters: tuple[Adapter, ...] = field(default_factory=all_adapters)
    settings: tuple[ProcessVariables, ...] = SETTINGS
    stores: tuple[StoreKind, ...] = field(default_factory=all_kinds)


def make_candidate_runs(materials: Materials) -> tuple[CandidateRun, ...]:
    """Everything that can be compared on this machine, in the order of what it promises."""
    found = (*_list_stacks(materials), *_list_decoders(materials), *_list_settings(materials), *_list_stores(materials))
    return tuple(found)


def baseline_of(title: str, *, is_own_loader: bool) -> Candidate:
    """The environment as it is, or the user's own loader in it."""
    adapter = OWN_LOADER if is_own_loader else _PLAIN
    return Candidate(name="baseline", title=title, kind=CandidateKind.BASELINE, adapter=adapter, variables={})


def join_candidate_runs(parts: Sequence[CandidateRun]) -> CandidateRun:
    """Several that each help, at the same time: the last stack, the last decoder, all variables.

    Args:
        parts: one of a kind each.
    """
    variables = {name: value for each in parts for name, value in each.candidate.variables.items()}
    decoder = next((each for each in parts if each.candidate.kind is CandidateKind.DECODER), None)
    stack = next((each for each in parts if each.candidate.kind is CandidateKind.STACK), None)
    plain = parts[0].candidate.adapter if decoder is None else decoder.candidate.adapter
    return CandidateRun(
        candidate=Candidate(
            name=TOGETHER,
            title=listing(each.name for each in parts) + " together",
            kind=CandidateKind.TOGETHER,
            adapter=plain,
            stack="in place" if stack is None else stack.candidate.stack,
            variables=variables,
        ),
        site=() if stack is None else stack.site,
        formats=() if decoder is None else decoder.formats,
    )


def select_candidate_runs(found: Sequence[CandidateRun], names: Sequence[str]) -> tuple[CandidateRun, ...]:
    """Those with these names, all of them where none is named; what helps together needs all that could take part.

    Args:
        found: that there are on this machine.
        names: asked for.
    """
    if not names:
        return tuple(found)
    joined = TOGETHER in names
    return tuple(each for each in found if each.name in names or (joined and each.can_be_joined))


def _list_stacks(materials: Materials) -> Iterator[CandidateRun]:
    adapter = OWN_LOADER if materials.own_loader else _PLAIN
    named = (
        (FASTINSTALL, "fastinstall", materials.fastinstall, 20),
        (OFFICIAL_WHEEL, "official wheel", materials.official, 30),
    )
    for name, label, stack, priority in named:
        if stack is not None:
            yield CandidateRun(
                candidate=Candidate(
                    name=name, title=stack.title, kind=CandidateKind.STACK, adapter=adapter, stack=label, variables={}
                ),
                site=() if stack.directory is None else (stack.directory,),
                priority=priority,
                absent=stack.absent,
            )


def _list_decoders(materials: Materials) -> Iterator[CandidateRun]:
    for adapter in materials.adapters:
        if adapter.name == _PLAIN and not materials.own_loader:
            continue
        library = materials.libraries.get(adapter.name, DecoderPackages())
        yield CandidateRun(
            candidate=Candidate(
                name=adapter.name,
                title=adapter.title,
                kind=CandidateKind.DECODER,
                adapter=adapter.name,
                stack="in place" if library.directory is None else "its own",
                variables={},
                aliased=adapter.aliased,
            ),
            site=() if library.directory is None else (library.directory,),
            formats=adapter.formats,
            uses_pillow=_PIL in adapter.modules,
            scales=adapter.scales,
            priority=adapter.priority,
            absent=library.absent,
        )


def _list_settings(materials: Materials) -> Iterator[CandidateRun]:
    adapter = OWN_LOADER if materials.own_loader else _PLAIN
    for setting in materials.settings:
        found = variables_of(setting, materials.machine, materials.variables)
        if found:
            yield _make_setting_run(setting, found, adapter)


def _make_setting_run(setting: ProcessVariables, variables: dict[str, str], adapter: str) -> CandidateRun:
    candidate = Candidate(
        name=setting.name, title=setting.title, kind=CandidateKind.SETTING, adapter=adapter, variables=variables
    )
    return CandidateRun(candidate=candidate, priority=setting.priority)


def _list_stores(materials: Materials) -> Iterator[CandidateRun]:
    for kind in materials.stores:
        library = materials.libraries.get(kind.name, DecoderPackages())
        own = materials.own_loader and kind.in_files
        yield CandidateRun(
            candidate=Candidate(
                name=kind.name,
                title=kind.title,
                kind=CandidateKind.STORAGE,
                adapter=OWN_LOADER if own else _PLAIN,
                stack="in place" if library.directory is None else "its own",
                variables={},
                storage=kind.name,
            ),
            site=() if library.directory is None else (library.directory,),
            store=kind,
            priority=kind.priority,
            absent=library.absent,
        )
