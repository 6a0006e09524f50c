"""Assemble a wheel from the compiled cores: audit, base wheel or repair, certify, label, pack.

Without an official wheel to carry the core, auditwheel bundles the libraries.
"""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from fastinstall.core.events import Finished, Noted, Started
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.audit import audit_core
from fastinstall.wheelbuild.auditwheel import certify_base_wheel, repair_wheel
from fastinstall.wheelbuild.base_wheel import CORE, hide_idle_libraries, take_version
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile import BuildContext, CompiledLevel
from fastinstall.wheelbuild.core_placement import place_cores
from fastinstall.wheelbuild.provenance import bill_of_materials, provenance, provenance_text
from fastinstall.wheelbuild.static_libraries import list_global_symbols
from fastinstall.wheelbuild.wheel_files import (
    PROVENANCE_FILE,
    SBOM_FILE,
    Label,
    label_tree,
    pack_wheel,
    read_wheel_tags,
    unpack_wheel,
)


def assemble(context: BuildContext, compiled_levels: Sequence[CompiledLevel]) -> Path:
    """Create the wheel, below the build's temporary directory.

    Args:
        compiled_levels: the cores, the baseline first.

    Raises:
        FailedError: a core fails the audit, or does not fit.
    """
    request, started = context.request, time.monotonic()
    request.emit(Started(stage="bundle", message="assembling the wheel"))
    expected = _list_expected_symbols(context, compiled_levels[0].source)
    hidden = frozenset(name for each in context.statics for name in list_global_symbols(each.archive))
    ldflags = {level.name: level.ldflags for level in request.recipe.levels}
    for level in compiled_levels:
        audit_core(_locate_core(request, level), expected, ldflags.get(level.target.level, ()), hidden)
    tree, platforms = _bundle_libraries(context, compiled_levels)
    wheel = _label_wheel(context, compiled_levels[0], tree, platforms)
    request.emit(Finished(stage="bundle", message=wheel.name, seconds=time.monotonic() - started))
    return wheel


def _list_expected_symbols(context: BuildContext, source: Path) -> tuple[str, ...]:
    """List the symbols that tell the kernels, without those of kernels that were left out."""
    recipe = context.request.recipe
    if len(context.kernels) == len(recipe.kernels):
        return recipe.expect.symbols
    texts = (path.read_text("utf-8", "replace") for path in (source / "src").rglob("*.[ch]"))
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return tuple(symbol for symbol in recipe.expect.symbols if symbol in words)


def _locate_core(request: BuildRequest, level: CompiledLevel) -> Path:
    return level.tree / request.recipe.package / f"{CORE}{request.interpreter.extension_suffix}"


def _bundle_libraries(context: BuildContext, levels: Sequence[CompiledLevel]) -> tuple[Path, tuple[str, ...]]:
    """Return the tree of the wheel, and its platform tags."""
    request, space, base_wheel, first = context.request, context.space, context.base_wheel, levels[0]
    if base_wheel is not None:
        cores = {level.target.level: _locate_core(request, level) for level in levels}
        with hide_idle_libraries(base_wheel):
            take_version(base_wheel, first.tree)
            place_cores(request, base_wheel, {each: cores[each.target.level] for each in context.placements})
        return base_wheel.root, certify_base_wheel(base_wheel, request.variables, space)
    if request.step.link is not LinkMode.BUNDLE:
        return first.tree, read_wheel_tags(first.tree).platforms
    repaired = space / "repaired"
    unpack_wheel(repair_wheel(request, first.wheel, space / "repair"), repaired)
    return repaired, read_wheel_tags(repaired).platforms


def _label_wheel(context: BuildContext, first: CompiledLevel, tree: Path, platforms: tuple[str, ...]) -> Path:
    request, step = context.request, context.request.step
    if any(platform.startswith("linux_") for platform in platforms) and step.link is LinkMode.BUNDLE:
        request.emit(Noted(message="the wheel fits no manylinux policy: it only runs on this system", warning=True))
    made = provenance(request, context.headers, first.features, context.statics, context.kernels)
    bill = bill_of_materials(made, step.distribution, step.version)
    label = Label(
        distribution=step.distribution,
        version=step.version,
        summary=f"Rebuild of {made.source.name} {made.source.version} by fastinstall for {' and '.join(step.levels)}",
        platforms=platforms,
        statements={PROVENANCE_FILE: provenance_text(made), SBOM_FILE: bill},
    )
    wheel = context.space / label_tree(tree, label)
    pack_wheel(tree, wheel)
    return wheel
