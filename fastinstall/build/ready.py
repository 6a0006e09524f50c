"""Wheels in the cache that are what a plan would build, found before anything is known of a compiler.

What a plan names has to be the same: sources by hash, levels with their flags, libraries, the minor version of
Python. What it does not name, compiler and headers, is as it was when the wheel was made. That is enough with an
official wheel as chassis, as its libraries are what the core uses; and so a wheel for cp311 is one for every 3.11.
A core that is linked to libraries of the machine, or made for its very CPU, is not looked for here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.build import cache
from fastinstall.build.provenance import PIPELINE_VERSION
from fastinstall.build.statics import key_inputs
from fastinstall.model import codec
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import Recipe
from fastinstall.model.steps import Build
from fastinstall.model.wish import LinkMode

_OF_THIS_CPU = "-march=native"


@immutable
class Ready:
    """A wheel in the cache.

    Attributes:
        key: of its entry.
        entry: what is known of it.
    """

    key: str
    entry: cache.Entry

    @property
    def compiler(self) -> str:
        """That it was made by, as `Compiler.text` has it."""
        return self.entry.inputs["compiler"]


def find_ready(directory: Path, step: Build, recipe: Recipe, interpreter: Interpreter) -> Iterator[Ready]:
    """Wheels that are what a step builds, and that the interpreter takes, the last one that was made first.

    Args:
        directory: root of the cache.
        step: as planned.
        recipe: what it builds.
        interpreter: the Python that it is for.
    """
    from fastinstall.installers import selection  # noqa: PLC0415 (packaging, only where a wheel is looked for)

    hashes = planned_hashes(step)
    if hashes is None or not _is_portable(step):
        return
    known = known_inputs(recipe, step, interpreter, hashes)
    tags = set(selection.supported_tags(interpreter))
    for key, entry in cache.entries(directory):
        same = all(entry.inputs.get(name) == value for name, value in known.items())
        if not same or entry.inputs.get("statics") != statics_digest(recipe, step, entry.inputs.get("compiler", "")):
            continue
        name = selection.parse_filename(entry.wheel)
        if name is not None and name.tags & tags and cache.is_whole(directory, key, entry):
            yield Ready(key=key, entry=entry)


def known_inputs(recipe: Recipe, step: Build, interpreter: Interpreter, hashes: Mapping[str, str]) -> dict[str, str]:
    """Of what decides the bytes of a wheel, what a plan names; `hashes` are those of its files."""
    python = (interpreter.implementation, ".".join(interpreter.version.split(".")[:2]), interpreter.abi)
    return {
        "pipeline": str(PIPELINE_VERSION),
        "recipe": recipe.name,
        **hashes,
        "rules": codec.digest((recipe.kernels, recipe.tuning)),
        "without": " ".join(step.without),
        "distribution": f"{step.distribution} {step.version}",
        "targets": codec.digest(step.targets),
        "link": step.link.value,
        "libraries": " ".join(sorted(_compiled_against(recipe, step, chassis=bool(hashes["chassis"])))),
        "python": " ".join(python),
        "platform": f"{interpreter.platform} {interpreter.extension_suffix}",
    }


def planned_hashes(step: Build) -> dict[str, str] | None:
    """Return the hashes of a step's inputs by name, or None if one is only known after the download."""
    files: dict[str, Artefact | None] = {
        "source": step.source,
        "kernels": step.kernels,
        "base": step.base,
        "chassis": step.chassis,
    }
    hashes = {name: artefact.sha256 if artefact is not None else "" for name, artefact in files.items()}
    known = all(hashes[name] for name, artefact in files.items() if artefact is not None)
    return hashes if known and all(each.sha256 for each in step.statics.values()) else None


def statics_digest(recipe: Recipe, step: Build, compiler: str) -> str:
    """Of everything that decides the libraries which are linked in."""
    inputs = {}
    for name, sdist in step.statics.items():
        source = recipe.libraries[name].static
        if source is not None:
            inputs[name] = key_inputs(source, sdist.sha256, step.targets[0].cflags, compiler)
    return codec.digest(inputs)


def _is_portable(step: Build) -> bool:
    native = any(_OF_THIS_CPU in target.cflags for target in step.targets)
    return step.source is not None and step.chassis is not None and step.link is LinkMode.BUNDLE and not native


def _compiled_against(recipe: Recipe, step: Build, *, chassis: bool) -> Iterator[str]:
    known = {name: recipe.libraries[name] for name in step.libraries if name in recipe.libraries}
    return (name for name, library in known.items() if library.core or not chassis)
