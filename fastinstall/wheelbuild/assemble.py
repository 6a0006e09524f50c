"""Assemble a wheel from the compiled cores: audit, base wheel or repair, certify, label, pack.

Without an official wheel to carry the core, auditwheel bundles the libraries.
"""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from fastinstall.core.events import Finished, Noted, Started
from fastinstall.core.values import immutable
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.audit import audit_core
from fastinstall.wheelbuild.auditwheel import certify_base_wheel, repair_wheel
from fastinstall.wheelbuild.base_wheel import CORE, BaseWheel, hide_idle_libraries, take_version
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile import BuildContext, CompiledLevel
from fastinstall.wheelbuild.core_placement import CorePlacement, place_cores
from fastinstall.wheelbuild.linking import LinkLocation, make_standalone_location
from fastinstall.wheelbuild.provenance import bill_of_materials, provenance, provenance_text
from fastinstall.wheelbuild.static_libraries import StaticLibrary, list_global_symbols
from fastinstall.wheelbuild.wheel_files import (
    PROVENANCE_FILE,
    SBOM_FILE,
    Label,
    label_tree,
    pack_wheel,
    read_wheel_tags,
    unpack_wheel,
)


@immutable
class BuildInputs:
    """Everything that compiling needs, prepared.

    Attributes:
        kernels: the names of the kernels that are in the source.
        statics: libraries that are linked into the cores.
        base_wheel: the unpacked official wheel, if one carries the cores.
        placements: the place of each core in it.
        build_context: what all levels share.
    """

    kernels: tuple[str, ...]
    statics: tuple[StaticLibrary, ...]
    base_wheel: BaseWheel | None
    placements: tuple[CorePlacement, ...]
    build_context: BuildContext

    @property
    def places(self) -> dict[str, LinkLocation]:
        """The place of each level's core, by the level's name."""
        if self.base_wheel is None:
            request = self.build_context.request
            return {target.level: make_standalone_location(request) for target in request.step.targets}
        return {placement.target.level: placement.place for placement in self.placements}


def assemble(inputs: BuildInputs, compiled_levels: Sequence[CompiledLevel]) -> Path:
    """Create the wheel, below the build's temporary directory.

    Args:
        compiled_levels: the cores, the baseline first.

    Raises:
        FailedError: a core fails the audit, or does not fit.
    """
    request, started = inputs.build_context.request, time.monotonic()
    request.emit(Started(stage="bundle", message="assembling the wheel"))
    expected = _list_expected_symbols(inputs, compiled_levels[0].source)
    hidden = frozenset(name for each in inputs.statics for name in list_global_symbols(each.archive))
    ldflags = {level.name: level.ldflags for level in request.recipe.levels}
    for level in compiled_levels:
        audit_core(_locate_core(request, level), expected, ldflags.get(level.target.level, ()), hidden)
    tree, platforms = _bundle_libraries(inputs, compiled_levels)
    wheel = _label_wheel(inputs, compiled_levels[0], tree, platforms)
    request.emit(Finished(stage="bundle", message=wheel.name, seconds=time.monotonic() - started))
    return wheel


def _list_expected_symbols(inputs: BuildInputs, source: Path) -> tuple[str, ...]:
    """List the symbols that tell the kernels, without those of kernels that were left out."""
    recipe = inputs.build_context.request.recipe
    if len(inputs.kernels) == len(recipe.kernels):
        return recipe.expect.symbols
    texts = (path.read_text("utf-8", "replace") for path in (source / "src").rglob("*.[ch]"))
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return tuple(symbol for symbol in recipe.expect.symbols if symbol in words)


def _locate_core(request: BuildRequest, level: CompiledLevel) -> Path:
    return level.tree / request.recipe.package / f"{CORE}{request.interpreter.extension_suffix}"


def _bundle_libraries(inputs: BuildInputs, levels: Sequence[CompiledLevel]) -> tuple[Path, tuple[str, ...]]:
    """Return the tree of the wheel, and its platform tags."""
    context, base_wheel, first = inputs.build_context, inputs.base_wheel, levels[0]
    request, space = context.request, context.space
    if base_wheel is not None:
        cores = {level.target.level: _locate_core(request, level) for level in levels}
        with hide_idle_libraries(base_wheel):
            take_version(base_wheel, first.tree)
            place_cores(request, base_wheel, {each: cores[each.target.level] for each in inputs.placements})
        return base_wheel.root, certify_base_wheel(base_wheel, request.variables, space)
    if request.step.link is not LinkMode.BUNDLE:
        return first.tree, read_wheel_tags(first.tree).platforms
    repaired = space / "repaired"
    unpack_wheel(repair_wheel(request, first.wheel, space / "repair"), repaired)
    return repaired, read_wheel_tags(repaired).platforms


def _label_wheel(inputs: BuildInputs, first: CompiledLevel, tree: Path, platforms: tuple[str, ...]) -> Path:
    request, step = inputs.build_context.request, inputs.build_context.request.step
    if any(platform.startswith("linux_") for platform in platforms) and step.link is LinkMode.BUNDLE:
        request.emit(Noted(message="the wheel fits no manylinux policy: it only runs on this system", warning=True))
    made = provenance(request, inputs.build_context.headers, first.features, inputs.statics, inputs.kernels)
    bill = bill_of_materials(made, step.distribution, step.version)
    label = Label(
        distribution=step.distribution,
        version=step.version,
        summary=f"Rebuild of {made.source.name} {made.source.version} by fastinstall for {' and '.join(step.levels)}",
        platforms=platforms,
        statements={PROVENANCE_FILE: provenance_text(made), SBOM_FILE: bill},
    )
    wheel = inputs.build_context.space / label_tree(tree, label)
    pack_wheel(tree, wheel)
    return wheel
