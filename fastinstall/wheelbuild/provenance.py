"""A wheel's record of its build: `fastinstall.json` in its metadata, and a bill of materials with the same inputs.

Bills of materials that upstream and auditwheel have put into the wheel describe the bundled libraries; they stay (PEP
770).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastinstall import __version__
from fastinstall.core import codec, files
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers import Headers
from fastinstall.wheelbuild.static_libraries import StaticLibrary

PIPELINE_VERSION = 5


@immutable
class Ingredient:
    """An input file of a build.

    Attributes:
        filename: file name in the index.
        sha256: hash of the file, in hexadecimal digits.
    """

    name: str
    version: str
    filename: str
    sha256: str


@immutable
class Provenance:
    """The inputs of a wheel's build; the same inputs give the same text.

    Attributes:
        tool_version: version of fastinstall.
        pipeline: version number of the build pipeline.
        source: the sdist of the core.
        kernels: names of our kernels in the core.
        left_out: names of the recipe's kernels that are not in the core, because a proof with them failed.
        statics: sdists of libraries that were linked into the core, by the recipe's names of the libraries.
        base_wheel: the official wheel that the core was placed in; None without one.
        targets: CPU levels with their flags, the lowest first.
        link: the link mode, which decides the native libraries that the core uses.
        compiler: first line of the compiler's `--version`.
        features: features in the summary of the build: version by name, None if absent. With a base wheel, only
            features of the core are listed.
        headers: versions of the libraries' C headers, if known, by the recipe's names.
        python: version of the interpreter that the wheel was built for.
        abi: ABI tag of the interpreter.
        platform: platform of the interpreter ("linux-x86_64").
        libc: name and version of the C library ("glibc 2.36").
    """

    tool_version: str
    pipeline: int
    recipe: str
    source: Ingredient
    kernels: tuple[str, ...]
    left_out: tuple[str, ...]
    statics: dict[str, Ingredient]
    base_wheel: Ingredient | None
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
    """Return the record of a wheel's build."""
    step, interpreter = request.step, request.interpreter
    return Provenance(
        tool_version=__version__,
        pipeline=PIPELINE_VERSION,
        recipe=request.recipe.name,
        source=ingredient(step.source, request.source),
        kernels=kernels,
        left_out=step.left_out,
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
    """Return the description of an input file; name and version are empty without an artefact."""
    name, version = (artefact.name, artefact.version) if artefact is not None else ("", "")
    return Ingredient(name=name, version=version, filename=path.name, sha256=files.sha256(path))


def provenance_text(value: Provenance) -> str:
    """Return the text of `fastinstall.json`."""
    return codec.dump(codec.document("provenance", value))


def bill_of_materials(made: Provenance, distribution: str, version: str) -> str:
    """Return a wheel's bill of materials, without date and serial number, so that it is reproducible.

    The format is CycloneDX 1.6 (ECMA-424, https://cyclonedx.org/docs/1.6/json/).

    Args:
        made: the record of the wheel's build.
        distribution: name of the wheel's distribution.
        version: version of the wheel, with its local part.
    """
    sources = [_describe_package(each) for each in (made.source, made.base_wheel) if each is not None]
    linked = [_describe_static(each, made.headers[name]) for name, each in made.statics.items()]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": "fastinstall", "version": made.tool_version}]},
            "component": {
                "type": "library",
                "name": distribution,
                "version": version,
                "purl": f"pkg:pypi/{distribution}@{quote(version)}",
            },
        },
        "components": [*sources, *linked],
    }
    return json.dumps(document, indent=2) + "\n"


def _describe_package(value: Ingredient) -> dict[str, Any]:
    return {
        "type": "library",
        "name": value.name,
        "version": value.version,
        "hashes": [{"alg": "SHA-256", "content": value.sha256}],
        "purl": f"pkg:pypi/{value.name}@{quote(value.version)}?file_name={quote(value.filename)}",
    }


def _describe_static(sdist: Ingredient, version: str) -> dict[str, Any]:
    """Describe a library that is linked into the core.

    The version in the description is the library's own, which scanners know, not the version of the sdist.
    """
    return {
        "type": "library",
        "name": sdist.name,
        "version": version,
        "description": "linked into the core",
        "purl": f"pkg:generic/{sdist.name}@{quote(version)}",
        "pedigree": {"ancestors": [_describe_package(sdist)]},
    }
