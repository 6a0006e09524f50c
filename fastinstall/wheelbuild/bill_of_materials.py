"""A wheel's bill of materials: its contents, its sources, and the tools that built it.

CycloneDX 1.6 (ECMA-424, https://cyclonedx.org/docs/1.6/json/). Inputs that are not in the wheel, such as the
compiler, are under `formulation`, so that no scanner reports them as installed. Without date and random number: the
same wheel has the same bill.
"""

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastinstall import __version__
from fastinstall.core import codec, files, foreign
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.wheelbuild.provenance import Ingredient, Provenance
from fastinstall.wheelbuild.static_libraries import StaticLibrary

_SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
_OWN = "fastinstall:wheel"
_KEPT = ("name", "version", "description", "licenses", "purl")
_ALIASES = {
    "libfreetype": "freetype2",
    "liblcms2": "littlecms2",
    "libopenjp2": "openjpeg",
    "libsharpyuv": "libwebp",
    "libwebpdemux": "libwebp",
    "libwebpmux": "libwebp",
}  # libraries named differently from their project in the official bill
_VENDORED = "#thirdparty/"  # in the official bill: C code inside Pillow's own source
_Component = dict[str, Any]


@immutable
class WheelComponents:
    """The components of a wheel.

    Attributes:
        distribution: name of the wheel's distribution.
        version: of the wheel, with its local part.
        made: how it was built: from which sources, with which kernels and compiler.
        statics: libraries that are linked into the cores.
        requirements: file name and sha256 of the wheels that the build ran with.
    """

    distribution: str
    version: str
    made: Provenance
    statics: Sequence[StaticLibrary] = ()
    requirements: tuple[tuple[str, str], ...] = ()


def bill_of_materials(contents: WheelComponents, tree: Path) -> str:
    """Return the bill.

    Args:
        tree: the unpacked wheel with its bundled libraries and, if present, the official bills.
    """
    components = [
        *_list_included_distributions(contents),
        *(_describe_static_library(each, contents.made.statics[each.name]) for each in contents.statics),
        *_from_tree(tree),
    ]
    references = sorted(component["bom-ref"] for component in components)
    document = {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "tools": {"components": [{"type": "application", "name": "fastinstall", "version": __version__}]},
            "component": _describe_wheel(contents),
        },
        "components": components,
        "dependencies": [{"ref": _OWN, "dependsOn": references}],
        "formulation": [{"bom-ref": "fastinstall:formula", "components": _list_build_tools(contents)}],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, codec.digest(document))
    return json.dumps({**document, "serialNumber": f"urn:uuid:{number}"}, indent=2, ensure_ascii=False) + "\n"


def _describe_wheel(contents: WheelComponents) -> _Component:
    source, names = contents.made.source, contents.made.kernels
    kernels = f" with fastinstall's kernels {', '.join(names)}" if names else ""
    notes = f"Its core is {source.name} {source.version}{kernels}, compiled by fastinstall."
    return {
        "type": "library",
        "bom-ref": _OWN,
        "name": contents.distribution,
        "version": contents.version,
        "purl": _make_purl("pypi", contents.distribution, contents.version),
        "pedigree": {"ancestors": [_describe_package(source)], "notes": notes},
    }


def _list_included_distributions(contents: WheelComponents) -> list[_Component]:
    """List distributions whose code or files are in the wheel."""
    parts = [each for each in (contents.made.source, contents.made.base_wheel) if each is not None]
    return [{**_describe_package(each), "bom-ref": f"fastinstall:from/{each.filename}"} for each in parts]


def _list_build_tools(contents: WheelComponents) -> list[_Component]:
    """List the inputs of the build that are not in the wheel."""
    found: list[_Component] = [{"type": "application", "name": "C compiler", "version": contents.made.compiler}]
    for filename, sha256 in contents.requirements:
        name, version = filename.split("-")[:2]
        found.append(_describe_package(Ingredient(name=name, version=version, filename=filename, sha256=sha256)))
    return found


def _describe_static_library(library: StaticLibrary, sdist: Ingredient) -> _Component:
    return {
        "type": "library",
        "bom-ref": f"fastinstall:static/{sdist.name}",
        "name": sdist.name,
        **({"version": library.version} if library.version else {}),
        "description": "linked into the core",
        "hashes": _make_hashes(library.sha256),
        "purl": _make_purl("generic", sdist.name, library.version),
        "pedigree": {"ancestors": [_describe_package(sdist)]},
    }


def _describe_package(value: Ingredient) -> _Component:
    name = re.sub(r"[-_.]+", "-", value.name).lower()
    found: _Component = {"type": "library", "name": value.name, "version": value.version}
    hashes = {"hashes": _make_hashes(value.sha256)} if value.sha256 else {}
    return {**found, **hashes, "purl": f"{_make_purl('pypi', name, value.version)}?file_name={quote(value.filename)}"}


def _from_tree(tree: Path) -> Iterator[_Component]:
    """Yield bundled libraries, by digest and by their name in the official bills; and vendored code."""
    known = _read_official_bills(tree)
    for path in sorted(tree.glob("*.libs/**/*.so*")):
        location = path.relative_to(tree).as_posix()
        stem = re.sub(r"(-[0-9a-f]{8,})?\.so(\..*)?$", "", path.name)
        names = (_ALIASES.get(stem, stem), stem.removeprefix("lib"))
        told = next((known[name] for name in names if name in known), {"type": "file", "name": location})
        found = {**told, "bom-ref": f"file:{location}", "hashes": _make_hashes(files.sha256(path))}
        yield {**found, "evidence": {"occurrences": [{"location": location}]}}
    for name, component in sorted(known.items()):
        if _VENDORED in name:
            yield {**component, "bom-ref": name}


def _read_official_bills(tree: Path) -> dict[str, _Component]:
    """Return the components of the official wheel's bills, by library name, and by reference for vendored code.

    An unreadable bill is skipped: it is replaced anyway.
    """
    found: dict[str, _Component] = {}
    for path in sorted(tree.glob("*.dist-info/sboms/*.cdx.json")):
        try:
            listed = json_data(foreign.read_text(path))["components"]
            found.update(entry for component in listed for entry in _describe_component(component))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def _describe_component(component: _Component) -> Iterator[tuple[str, _Component]]:
    reference, version = str(component["bom-ref"]), str(component.get("version", ""))
    kept = {"type": "library", **{key: component[key] for key in _KEPT if key in component}}
    if _VENDORED in reference:
        yield reference, kept
    elif not reference.startswith("pkg:pypi/"):
        name = reference.partition("#")[0].partition("@")[0].rpartition("/")[2]
        yield name, {**kept, "purl": component.get("purl", _make_purl("generic", name, version))}


def _make_purl(kind: str, name: str, version: str) -> str:
    return f"pkg:{kind}/{name}@{quote(version)}" if version else f"pkg:{kind}/{name}"


def _make_hashes(sha256: str) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": sha256}]
