"""Assemble a wheel from the compiled cores: audit, base wheel or repair, certify, label, pack.

The audit sees that a core is optimised, marked with its CPU level, and contains the kernels.

Without an official wheel to carry the core, auditwheel bundles the libraries.
"""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Finished, Noted, Started
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.elf.symbols import find_defined_names, measure_unoptimised_share
from fastinstall.model.request import LinkMode
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

_MOST_UNOPTIMISED = 0.5
_MARKED_LEVELS = "|".join(level.name for each in ARCHITECTURES if each.isa_property for level in each.levels)
_LEVEL_FLAG = re.compile(rf"-Wl,(?:.*,)?-?z,({_MARKED_LEVELS})\b")


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


def audit_core(
    core: Path, symbols: tuple[str, ...], ldflags: tuple[str, ...], hidden: frozenset[str] = frozenset()
) -> None:
    """Refuse a core that fails the audit.

    Args:
        core: the built extension module.
        symbols: symbols that it must define.
        ldflags: those of the recipe for its level.
        hidden: symbols that it must not export, because another library may define them too.

    Raises:
        FailedError: it cannot be read, is not optimised, lacks kernels, exports hidden symbols, or lacks the mark of
            its CPU level.
    """
    try:
        problems = (
            *(_audit_optimisation(core), _audit_kernels(core, symbols), _audit_level(core, ldflags)),
            _audit_exports(core, hidden),
        )
    except (ElfError, OSError) as error:
        raise FailedError(f"cannot read the built core: {error}") from error
    found = tuple(problem for problem in problems if problem)
    if found:
        raise FailedError(f"{core.name} fails the audit: {found[0]}", details=found)


def _audit_optimisation(core: Path) -> str:
    share = measure_unoptimised_share(core)
    if share is None or share < _MOST_UNOPTIMISED:
        return ""
    return f"compiled without optimisation ({share:.0%} of its functions look like -O0 code)"


def _audit_kernels(core: Path, symbols: tuple[str, ...]) -> str:
    missing = sorted(set(symbols) - find_defined_names(core, symbols))
    return f"kernels are missing: {', '.join(missing)}" if missing else ""


def _audit_exports(core: Path, hidden: frozenset[str]) -> str:
    shown = sorted(find_defined_names(core, hidden, exported=True))
    return f"it exports functions of the linked libraries: {', '.join(shown[:3])}" if shown else ""


def _audit_level(core: Path, ldflags: tuple[str, ...]) -> str:
    asked = next((match[1] for flag in ldflags if (match := _LEVEL_FLAG.search(flag))), None)
    noted = read_dynamic(core).isa_needed
    return f"it is marked {noted or 'with no CPU level'}, expected {asked}" if asked and noted != asked else ""
