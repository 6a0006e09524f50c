"""What a wheel says about its own making: `fastinstall.json` in its metadata."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fastinstall import __version__
from fastinstall.build.headers import Headers
from fastinstall.build.request import BuildRequest
from fastinstall.build.statics import StaticLibrary
from fastinstall.model import codec
from fastinstall.model.artefact import Artefact
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import Target
from fastinstall.model.wish import LinkMode

PIPELINE_VERSION = 3


@immutable
class Ingredient:
    """A file that went into the wheel.

    Attributes:
        name: of its distribution.
        version: of its distribution.
        filename: as the index calls it.
        sha256: hexadecimal.
    """

    name: str
    version: str
    filename: str
    sha256: str


@immutable
class Provenance:
    """How a wheel was made; the same inputs give the same text.

    Attributes:
        tool_version: of fastinstall.
        pipeline: number of the build pipeline.
        recipe: its name.
        source: the sdist.
        kernels: the sdist of the fork whose changes were merged, or None if nothing was.
        base: the sdist of what that fork follows.
        without: parts of the fork that were left out.
        statics: sdists of libraries that were linked into the core, and what they were called there.
        chassis: the official wheel around the core, if there is one.
        targets: CPU levels with their flags, the baseline first.
        link: which native libraries the core uses.
        compiler: first line of its `--version`.
        features: of the build's own summary; None where absent. With a chassis they are the core's alone.
        headers: versions of the libraries' C headers, where they tell one.
        python: version of the interpreter that it was built for.
        abi: ABI tag.
        platform: of the interpreter.
        libc: "glibc 2.36".
    """

    tool_version: str
    pipeline: int
    recipe: str
    source: Ingredient
    kernels: Ingredient | None
    base: Ingredient | None
    without: tuple[str, ...]
    statics: dict[str, Ingredient]
    chassis: Ingredient | None
    targets: tuple[Target, ...]
    link: LinkMode
    compiler: str
    features: dict[str, str | None]
    headers: dict[str, str]
    python: str
    abi: str
    platform: str
    libc: str


def provenance(
    request: BuildRequest, headers: Headers, features: dict[str, str | None], statics: Sequence[StaticLibrary]
) -> Provenance:
    """Collect it."""
    step, interpreter = request.step, request.interpreter
    return Provenance(
        tool_version=__version__,
        pipeline=PIPELINE_VERSION,
        recipe=request.recipe.name,
        source=ingredient(step.source, request.source),
        kernels=ingredient(step.kernels, request.kernels) if request.kernels is not None else None,
        base=ingredient(step.base, request.base) if request.base is not None else None,
        without=step.without,
        statics={each.name: ingredient(step.statics[each.name], request.statics[each.name]) for each in statics},
        chassis=ingredient(step.chassis, request.chassis) if request.chassis is not None else None,
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
    """Name and digest of a file as it lies on disk, which is what counts."""
    name, version = (artefact.name, artefact.version) if artefact is not None else ("", "")
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Ingredient(name=name, version=version, filename=path.name, sha256=digest)


def provenance_text(value: Provenance) -> str:
    """`fastinstall.json`."""
    return codec.dump(codec.document("provenance", value))
