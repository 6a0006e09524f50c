"""What a wheel says about its own making: `fastinstall.json` in its metadata, and its bill of materials."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from fastinstall import __version__
from fastinstall.build.headers import Headers
from fastinstall.build.request import BuildRequest
from fastinstall.model import codec
from fastinstall.model.artefact import Artefact
from fastinstall.model.wish import LinkMode

PIPELINE_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How a wheel was made; the same inputs give the same text.

    Attributes:
        tool_version: of fastinstall.
        pipeline: number of the build pipeline.
        recipe: its name.
        source: the sdist.
        chassis: the official wheel around the core, if there is one.
        level: CPU level.
        cflags: full.
        ldflags: those that mark the binary.
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
    chassis: Ingredient | None
    level: str
    cflags: tuple[str, ...]
    ldflags: tuple[str, ...]
    link: LinkMode
    compiler: str
    features: dict[str, str | None]
    headers: dict[str, str]
    python: str
    abi: str
    platform: str
    libc: str


def provenance(request: BuildRequest, headers: Headers, features: dict[str, str | None]) -> Provenance:
    """Collect it."""
    step, interpreter = request.step, request.interpreter
    return Provenance(
        tool_version=__version__,
        pipeline=PIPELINE_VERSION,
        recipe=request.recipe.name,
        source=ingredient(step.source, request.source),
        chassis=ingredient(step.chassis, request.chassis) if request.chassis is not None else None,
        level=step.level,
        cflags=step.cflags,
        ldflags=step.ldflags,
        link=step.link,
        compiler=request.compiler.version,
        features=features,
        headers=headers.versions,
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


def bill_of_materials(request: BuildRequest, value: Provenance, tree: Path) -> str:
    """A CycloneDX 1.4 document: this distribution, what it was made from, and every bundled library by digest.

    Components that the replaced documents name (system packages behind bundled libraries) are kept.
    """
    step = request.step
    own = _package(Ingredient(name=step.distribution, version=step.version, filename="", sha256=""))
    made_from = [_package(each) for each in (value.source, value.chassis) if each is not None]
    components = [*made_from, *_libraries(tree), *_inherited(tree)]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.4",
        "version": 1,
        "metadata": {"component": own, "tools": [{"name": "fastinstall", "version": __version__}]},
        "components": components,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in components]}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _package(value: Ingredient) -> dict[str, object]:
    qualifier = f"?file_name={quote(value.filename)}" if value.filename else ""
    purl = f"pkg:pypi/{value.name}@{quote(value.version)}{qualifier}"
    hashes = {"hashes": [{"alg": "SHA-256", "content": value.sha256}]} if value.sha256 else {}
    return {"type": "library", "bom-ref": purl, "name": value.name, "version": value.version, "purl": purl, **hashes}


def _libraries(tree: Path) -> list[dict[str, object]]:
    found = []
    for path in sorted(tree.glob("*.libs/*.so*")):
        name = path.relative_to(tree).as_posix()
        hashes = [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]
        component: dict[str, object] = {"type": "file", "bom-ref": f"file:{name}", "name": name, "hashes": hashes}
        found.append(component)
    return found


def _inherited(tree: Path) -> list[dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for path in sorted(tree.glob("*.dist-info/sboms/*.cdx.json")):
        for component in json.loads(path.read_text(encoding="utf-8")).get("components", []):
            if not str(component.get("purl", "")).startswith("pkg:pypi/"):
                found[str(component.get("bom-ref", component.get("name")))] = component
    return list(found.values())
