"""Put the compiled cores together to a wheel: audit, chassis or repair, certify, label, pack."""

import re
import time
from pathlib import Path

from fastinstall.build.audit import audit_core
from fastinstall.build.berths import Berth, moor
from fastinstall.build.bill import bill_of_materials, contents_of
from fastinstall.build.certify import certified_chassis
from fastinstall.build.chassis import CORE, Chassis, take_version, without_idle_libraries
from fastinstall.build.headers import Headers
from fastinstall.build.label import MERGE_FILE, PROVENANCE_FILE, SBOM_FILE, Label, label_tree
from fastinstall.build.lanes import Lane
from fastinstall.build.provenance import provenance, provenance_text
from fastinstall.build.repair import repair_wheel
from fastinstall.build.request import BuildRequest
from fastinstall.build.requirements import Requirements
from fastinstall.build.statics import StaticLibrary
from fastinstall.build.wheel import pack_wheel, tags_of, unpack_wheel
from fastinstall.model import codec
from fastinstall.model.event import Finished, Noted, Started
from fastinstall.model.immutable import immutable
from fastinstall.model.merge import MergeReport
from fastinstall.model.wish import LinkMode


@immutable
class Parts:
    """What a wheel is made of.

    Attributes:
        request: the build.
        headers: as found on the machine.
        report: what the merge did, or None if nothing was merged.
        statics: libraries that were linked into the cores.
        requirements: what the build ran with.
        chassis: the unpacked official wheel, if one carries the cores.
        berths: where each core lies in it.
        lanes: the compiled levels, the baseline first.
        space: the build's temporary directory.
    """

    request: BuildRequest
    headers: Headers
    report: MergeReport | None
    statics: tuple[StaticLibrary, ...]
    requirements: Requirements
    chassis: Chassis | None
    berths: tuple[Berth, ...]
    lanes: tuple[Lane, ...]
    space: Path


def assemble(parts: Parts) -> Path:
    """Make the wheel, below the build's temporary directory.

    Raises:
        FailedError: a core is not what was asked for, or does not fit.
    """
    request, started = parts.request, time.monotonic()
    request.emit(Started(stage="bundle", message="putting the wheel together"))
    for lane in parts.lanes:
        audit_core(_core(parts, lane), _expected(parts), lane.target.ldflags)
    tree, platforms = _bundled(parts)
    wheel = _labelled(parts, tree, platforms)
    request.emit(Finished(stage="bundle", message=wheel.name, seconds=time.monotonic() - started))
    return wheel


def _expected(parts: Parts) -> tuple[str, ...]:
    """The symbols of the kernels, less those that the merge left out and says so."""
    wanted = parts.request.recipe.expect.symbols
    if parts.report is None or not parts.report.not_accelerated:
        return wanted
    sources = (path for lane in parts.lanes[:1] for path in (lane.source / "src").rglob("*.[ch]"))
    words = {word for path in sources for word in re.findall(r"\w+", path.read_text("utf-8", "replace"))}
    return tuple(symbol for symbol in wanted if symbol in words)


def _core(parts: Parts, lane: Lane) -> Path:
    return lane.tree / parts.request.recipe.package / f"{CORE}{parts.request.interpreter.extension_suffix}"


def _bundled(parts: Parts) -> tuple[Path, tuple[str, ...]]:
    """The tree of the wheel, and its platform tags."""
    request, chassis, first = parts.request, parts.chassis, parts.lanes[0]
    if chassis is not None:
        by_level = {lane.target.level: _core(parts, lane) for lane in parts.lanes}
        with without_idle_libraries(chassis):
            take_version(chassis, first.tree)
            moor(request, chassis, {berth: by_level[berth.target.level] for berth in parts.berths})
        return chassis.root, certified_chassis(chassis, request.variables, parts.space)
    if request.step.link is not LinkMode.BUNDLE:
        return first.tree, tags_of(first.tree).platforms
    repaired = parts.space / "repaired"
    unpack_wheel(repair_wheel(request, first.compiled.wheel, parts.space / "repair"), repaired)
    return repaired, tags_of(repaired).platforms


def _labelled(parts: Parts, tree: Path, platforms: tuple[str, ...]) -> Path:
    request, step = parts.request, parts.request.step
    if any(platform.startswith("linux_") for platform in platforms) and step.link is LinkMode.BUNDLE:
        request.emit(Noted(message="the wheel fits no manylinux policy: it is for this system only", warning=True))
    made = provenance(request, parts.headers, parts.lanes[0].compiled.features, parts.statics)
    contents = contents_of(step, made, parts.statics, parts.requirements.files)
    texts = {PROVENANCE_FILE: provenance_text(made), SBOM_FILE: bill_of_materials(contents, tree)}
    if parts.report is not None:
        texts[MERGE_FILE] = codec.dump(codec.document("merge", parts.report))
    label = Label(
        distribution=step.distribution,
        version=step.version,
        summary=f"Rebuild of {made.source.name} {made.source.version} by fastinstall for {' and '.join(step.levels)}",
        platforms=platforms,
        statements=texts,
    )
    wheel = parts.space / label_tree(tree, label)
    pack_wheel(tree, wheel)
    return wheel
