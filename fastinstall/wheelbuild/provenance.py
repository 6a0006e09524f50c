"""A wheel's record of its own build: `fastinstall.json` in its metadata."""

from collections.abc import Sequence
from pathlib import Path

from fastinstall import __version__
from fastinstall.core import codec, files
from fastinstall.core.values import immutable, keyed
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers.probe import Headers
from fastinstall.wheelbuild.static_libraries import StaticLibrary

PIPELINE_VERSION = 3


@immutable
class Ingredient:
    """A file that went into the wheel.

    Attributes:
        filename: as in the index.
        sha256: its hash, in hexadecimal digits.
    """

    name: str
    version: str
    filename: str
    sha256: str


@immutable
class Provenance:
    """How a wheel was built; the same inputs give the same text.

    Attributes:
        tool_version: which fastinstall built it.
        pipeline: number of the build pipeline.
        source: the sdist of the core.
        kernels: names of the kernels of ours that are in the core.
        without: those that were left out, because a proof failed.
        statics: sdists of libraries that were linked into the core, with their names there.
        base_wheel: the official wheel around the core, or None.
        targets: CPU levels with their flags, the baseline first.
        link: which native libraries the core uses.
        compiler: first line of its `--version`.
        features: of the build's own summary; None if absent. With an official wheel, only the core's.
        headers: versions of the libraries' C headers, if known.
        python: version of the interpreter that it was built for.
        abi: ABI tag of the interpreter.
        platform: what the interpreter calls its platform.
        libc: name and version, as in "glibc 2.36".
    """

    tool_version: str
    pipeline: int
    recipe: str
    source: Ingredient
    kernels: tuple[str, ...]
    without: tuple[str, ...]
    statics: dict[str, Ingredient]
    base_wheel: Ingredient | None = keyed("chassis")
    targets: tuple[LevelTarget, ...]
    link: LinkMode
    compiler: str
    features: dict[str, str | None]
    headers: dict[str, str]
    python: str
    abi: str
    platform: str
    libc: str


def provenance(
    request: BuildRequest,
    headers: Headers,
    features: dict[str, str | None],
    statics: Sequence[StaticLibrary],
    kernels: tuple[str, ...],
) -> Provenance:
    """Collect how a wheel was built."""
    step, interpreter = request.step, request.interpreter
    return Provenance(
        tool_version=__version__,
        pipeline=PIPELINE_VERSION,
        recipe=request.recipe.name,
        source=ingredient(step.source, request.source),
        kernels=kernels,
        without=step.without,
        statics={each.name: ingredient(step.statics[each.name], request.statics[each.name]) for each in statics},
        base_wheel=ingredient(step.base_wheel, request.base_wheel) if request.base_wheel is not None else None,
        targets=step.targets,
        link=step.link,
        compiler=request.compiler.version,
        features=features,
        headers={**headers.versions, **{each.name: each.version for each in statics}},
        python=interpreter.version,
        abi=interpreter.abi,
        platform=interpreter.platform,
        libc=f"{interpreter.libc} {interpreter.libc_version}".strip(),
    )


def ingredient(artefact: Artefact | None, path: Path) -> Ingredient:
    """Return name and digest of a file on disk."""
    name, version = (artefact.name, artefact.version) if artefact is not None else ("", "")
    return Ingredient(name=name, version=version, filename=path.name, sha256=files.sha256(path))


def provenance_text(value: Provenance) -> str:
    """Return the text of `fastinstall.json`."""
    return codec.dump(codec.document("provenance", value))
