"""What a loader is compared with: every candidate as data, from what the machine has.

Stacks, decoders, settings and stores. Nothing is started here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from fastinstall.bench import catalogue
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

CONTROL = "control"
OWN_LOADER = "own loader"
"""Instead of an adapter, if the user's own code loads."""
OFFICIAL_WHEEL = "official-wheel"
FASTINSTALL = "fastinstall"
_PLAIN = "pillow"


@immutable
class CandidateRun:
    """A candidate, and how to start it.

    Attributes:
        candidate: as it is reported.
        site: directories at the front of its path.
        store: what holds its images; None for their files.
        formats: what it decodes, by Pillow's names; empty for all.
        scales: how many times the requested size an image must have to be decoded partly; 0 if that does not matter.
        batched: whether it loads whole batches on its own threads.
        priority: the lower, the earlier it is measured.
        absent: why it cannot be measured, known before trying; empty if it can.
        absence: the outcome in that case.
        control: why it cannot change anything with these images; empty if it can.
    """

    candidate: Candidate
    site: tuple[Path, ...] = ()
    store: catalogue.StoreKind | None = None
    formats: tuple[str, ...] = ()
    scales: float = 0
    batched: bool = False
    priority: int = catalogue.USUAL_PRIORITY
    absent: str = ""
    absence: CandidateOutcome = CandidateOutcome.MISSING
    control: str = ""

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name


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


@immutable
class Materials:
    """The sources of candidates.

    Attributes:
        machine: the machine that runs them.
        variables: their initial environment variables.
        own_loader: whether the user's own code is the baseline.
        official: the official wheel, or None if it is installed already.
        fastinstall: our build, or None if it is installed already.
        libraries: fetched or missing packages, by the name of the adapter or store that needs them.
        adapters: the ways to decode.
        stores: what can hold images.
    """

    machine: LoaderLimits
    variables: Mapping[str, str]
    own_loader: bool = False
    official: UnpackedPackages | None = None
    fastinstall: UnpackedPackages | None = None
    libraries: Mapping[str, UnpackedPackages] = field(default_factory=dict)
    adapters: tuple[catalogue.Adapter, ...] = field(default_factory=catalogue.all_adapters)
    stores: tuple[catalogue.StoreKind, ...] = field(default_factory=catalogue.all_kinds)


def make_candidate_runs(materials: Materials) -> tuple[CandidateRun, ...]:
    """Return everything that can be compared on this machine: stacks, decoders, settings, stores."""
    usual = _name_usual(materials.own_loader)
    return (
        *_list_stacks(materials, usual),
        *(_make_decoder_run(each, materials) for each in materials.adapters if each.name != usual),
        *_list_settings(materials, usual),
        *(_make_store_run(each, materials) for each in materials.stores),
    )


def baseline_of(title: str, *, is_own_loader: bool) -> Candidate:
    """Return the environment as it is, or the user's own loader in it."""
    return _make_run(CandidateKind.BASELINE, "baseline", title, adapter=_name_usual(is_own_loader)).candidate


def make_control_run(*, is_own_loader: bool) -> CandidateRun:
    """Return the baseline again, in another process: it shows the machine's own variation."""
    run = _make_run(CandidateKind.BASELINE, CONTROL, "the same again", adapter=_name_usual(is_own_loader))
    return replace(run, control="it is the baseline again")


def _name_usual(is_own_loader: bool) -> str:  # noqa: FBT001 (the only argument)
    return OWN_LOADER if is_own_loader else _PLAIN


def _list_stacks(materials: Materials, adapter: str) -> Iterator[CandidateRun]:
    for name, stack, packages, priority in (
        (FASTINSTALL, "fastinstall", materials.fastinstall, 20),
        (OFFICIAL_WHEEL, "official wheel", materials.official, 30),
    ):
        if packages is not None:
            yield _make_run(
                CandidateKind.STACK, name, packages.title, packages, adapter=adapter, stack=stack, priority=priority
            )


def _make_decoder_run(adapter: catalogue.Adapter, materials: Materials) -> CandidateRun:
    return _make_run(
        CandidateKind.DECODER,
        adapter.name,
        adapter.title,
        materials.libraries.get(adapter.name, _IN_PLACE),
        adapter=adapter.name,
        aliased=adapter.aliased,
        formats=adapter.formats,
        scales=adapter.scales,
        batched=adapter.batched,
        priority=adapter.priority,
    )


def _list_settings(materials: Materials, adapter: str) -> Iterator[CandidateRun]:
    variables = catalogue.huge_pages_variables(materials.machine, materials.variables)
    if variables:
        kind = CandidateKind.SETTING
        yield _make_run(
            kind, catalogue.HUGE_PAGES, catalogue.HUGE_PAGES_TITLE, adapter=adapter, variables=variables, priority=40
        )


def _make_store_run(kind: catalogue.StoreKind, materials: Materials) -> CandidateRun:
    return _make_run(
        CandidateKind.STORAGE,
        kind.name,
        kind.title,
        materials.libraries.get(kind.name, _IN_PLACE),
        adapter=_name_usual(materials.own_loader and kind.in_files),
        storage=kind.name,
        store=kind,
        priority=kind.priority,
    )


_IN_PLACE = UnpackedPackages()


def _make_run(
    kind: CandidateKind,
    name: str,
    title: str,
    packages: UnpackedPackages = _IN_PLACE,
    **fields: Any,  # noqa: ANN401 (fields of a Candidate or of its run)
) -> CandidateRun:
    own = {key: fields.pop(key) for key in tuple(fields) if key in Candidate.__dataclass_fields__}
    usual: dict[str, Any] = {
        "adapter": _PLAIN,
        "stack": "its own" if packages.directory else "in place",
        "variables": {},
    }
    candidate = Candidate(name=name, title=title, kind=kind, **{**usual, **own})
    site = (packages.directory,) if packages.directory else ()
    return CandidateRun(candidate=candidate, site=site, absent=packages.absent, **fields)
