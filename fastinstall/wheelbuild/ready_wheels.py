"""Find a cached wheel for a plan before any compiler is known.

All inputs that a plan names must be the same: sources by hash, levels with their flags, libraries, and the minor
version of Python, so a wheel for cp311 suits every Python 3.11. Compiler and headers may differ: that is safe if the
core is placed in an official wheel and uses the libraries of that wheel. Cores that are linked to libraries of the
machine, or built for exactly its CPU, are not searched for here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.core import codec, files
from fastinstall.model.artefact import Artefact, WheelOrder
from fastinstall.model.facts import Interpreter
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild import wheel_cache
from fastinstall.wheelbuild.build_inputs import list_enabled_libraries
from fastinstall.wheelbuild.prepare import find_memory_source, list_kernel_sources
from fastinstall.wheelbuild.provenance import PIPELINE_VERSION
from fastinstall.wheelbuild.requirements import describe_given_wheels
from fastinstall.wheelbuild.static_libraries import make_static_key

_OF_THIS_CPU = "-march=native"


def find_ready(
    directory: Path, step: WheelOrder, recipe: Recipe, interpreter: Interpreter, wheelhouse: Path | None = None
) -> Iterator[wheel_cache.CachedWheel]:
    """Yield cached wheels that match a planned build and suit its interpreter, the newest first.

    Args:
        directory: root of the cache.
        step: the planned build.
        interpreter: the Python that the wheel is for.
        wheelhouse: wheelhouse of this run; a wheel that was built with a wheelhouse matches only if this wheelhouse has
            the same content.
    """
    from fastinstall.index import selection  # noqa: PLC0415 (packaging, only where a wheel is looked for)

    hashes = read_planned_hashes(step)
    if hashes is None or not _is_portable(step):
        return
    known = list_known_inputs(recipe, step, interpreter, hashes)
    tags = set(selection.list_supported_tags(interpreter))
    given = describe_given_wheels(wheelhouse)
    sdists = {name: sdist.sha256 for name, sdist in step.statics.items()}
    for entry in wheel_cache.entries(directory):
        same = all(entry.inputs.get(name) == value for name, value in known.items())
        same = same and entry.inputs.get("wheelhouse") in (None, given.get("wheelhouse"))
        statics = make_statics_digest(recipe, step, sdists, entry.inputs.get("compiler", ""))
        if not same or entry.inputs.get("statics") != statics:
            continue
        name = selection.parse_filename(entry.wheel)
        if name is not None and name.tags & tags and wheel_cache.is_wheel_intact(directory, entry):
            yield entry


def list_known_inputs(
    recipe: Recipe, step: WheelOrder, interpreter: Interpreter, hashes: Mapping[str, str]
) -> dict[str, str]:
    """Return the inputs of a wheel that its plan determines, by name; `hashes` comes from `read_planned_hashes`."""
    return {
        "pipeline": str(PIPELINE_VERSION),
        "recipe": recipe.name,
        **hashes,
        "rules": codec.digest((recipe.kernels, recipe.tuning)),
        "own": " ".join(map(files.sha256, list_kernel_sources(recipe))),
        "memory": files.sha256(memory) if (memory := find_memory_source(recipe)) is not None else "",
        "left_out": " ".join(step.left_out),
        "distribution": f"{step.distribution} {step.version}",
        "targets": codec.digest(step.targets),
        "link": step.link.value,
        "libraries": " ".join(sorted(list_enabled_libraries(recipe, step, carried=bool(hashes["base_wheel"])))),
        "python": f"{interpreter.implementation} {interpreter.minor} {interpreter.abi}",
        "platform": f"{interpreter.platform} {interpreter.extension_suffix}",
    }


def read_planned_hashes(step: WheelOrder) -> dict[str, str] | None:
    """Return the hashes of a step's input files by name; None if one of them is known only after the download."""
    files: dict[str, Artefact | None] = {"source": step.source, "base_wheel": step.base_wheel, "clang": step.clang}
    hashes = {name: artefact.sha256 if artefact is not None else "" for name, artefact in files.items()}
    known = all(hashes[name] for name, artefact in files.items() if artefact is not None)
    return hashes if known and all(each.sha256 for each in step.statics.values()) else None


def make_statics_digest(recipe: Recipe, step: WheelOrder, sdists: Mapping[str, str], compiler: str) -> str:
    """Return a digest of all inputs of the statically linked libraries.

    Args:
        recipe: defines how the libraries are built.
        step: the planned build.
        sdists: SHA-256 of the libraries' sdists, by the recipe's names.
        compiler: `Compiler.text` of the compiler.
    """
    sources = {name: recipe.libraries[name].static for name in sdists}
    cflags = step.targets[0].cflags
    return codec.digest(
        {
            name: make_static_key(source, sdists[name], cflags, compiler)
            for name, source in sources.items()
            if source is not None
        }
    )


def _is_portable(step: WheelOrder) -> bool:
    native = any(_OF_THIS_CPU in target.cflags for target in step.targets)
    return step.source is not None and step.base_wheel is not None and step.link is LinkMode.BUNDLE and not native
