"""The pages of a static package index, as texts: HTML (PEP 503) and JSON (PEP 691), each file with what is known of it.

Addresses are relative, so that the pages hold on any web server, under any path, and on a file share. Sources: the
simple repository API of packaging.python.org (PEP 503, 629, 658, 691, 700, 714, 740).
"""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from fastinstall.model.immutable import immutable

_VERSION = "1.3"  # the first with provenance (PEP 740)


@immutable
class IndexedFile:
    """A file that an index offers.

    Attributes:
        name: of the distribution, normalised.
        version: of it.
        filename: "pillow-13.0.0+simd.v2.v3-cp311-cp311-manylinux_2_28_x86_64.whl".
        sha256: hexadecimal.
        size: in bytes.
        uploaded: when it came here, in UTC: "2026-01-31T12:00:00Z".
        requires_python: a specifier; empty where it has none.
        metadata_sha256: of its metadata beside it; empty where there are none.
        has_provenance: whether its attestations lie beside it.
        has_signature: whether a GPG signature lies beside it.
    """

    name: str
    version: str
    filename: str
    sha256: str
    size: int
    uploaded: str
    requires_python: str = ""
    metadata_sha256: str = ""
    has_provenance: bool = False
    has_signature: bool = False


def index_pages(files: Sequence[IndexedFile]) -> dict[str, str]:
    """All pages of an index whose files lie one directory above it, by their paths inside it."""
    projects: dict[str, list[IndexedFile]] = {}
    for file in sorted(files, key=lambda each: (each.name, each.filename)):
        projects.setdefault(file.name, []).append(file)
    pages = {"index.html": _html("Simple index", _project_links(projects)), "index.json": _json(_root(projects))}
    for name, offered in projects.items():
        pages[f"{name}/index.html"] = _html(f"Links for {name}", map(_file_link, offered))
        pages[f"{name}/index.json"] = _json(_project(name, offered))
    return pages


def _project_links(projects: Iterable[str]) -> Iterable[str]:
    return (f'<a href="{quote(name)}/">{html.escape(name)}</a>' for name in projects)


def _file_link(file: IndexedFile) -> str:
    attributes = {"href": f"{_address(file)}#sha256={file.sha256}"}
    if file.requires_python:
        attributes["data-requires-python"] = file.requires_python
    if file.metadata_sha256:
        attributes["data-core-metadata"] = f"sha256={file.metadata_sha256}"
    if file.has_provenance:
        attributes["data-provenance"] = f"{_address(file)}.provenance"
    if file.has_signature:
        attributes["data-gpg-sig"] = "true"
    words = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<a {words}>{html.escape(file.filename)}</a>"


def _html(title: str, links: Iterable[str]) -> str:
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "  <head>",
            '    <meta charset="utf-8">',
            f'    <meta name="pypi:repository-version" content="{_VERSION}">',
            f"    <title>{html.escape(title)}</title>",
            "  </head>",
            "  <body>",
            *(f"    {link}<br>" for link in links),
            "  </body>",
            "</html>",
            "",
        )
    )


def _root(projects: Iterable[str]) -> dict[str, Any]:
    return {"meta": {"api-version": _VERSION}, "projects": [{"name": name} for name in projects]}


def _project(name: str, files: Sequence[IndexedFile]) -> dict[str, Any]:
    versions = list(dict.fromkeys(file.version for file in files))
    return {
        "meta": {"api-version": _VERSION},
        "name": name,
        "versions": versions,
        "files": [_file(file) for file in files],
    }


def _file(file: IndexedFile) -> Mapping[str, Any]:
    described: dict[str, Any] = {
        "filename": file.filename,
        "url": _address(file),
        "hashes": {"sha256": file.sha256},
        "size": file.size,
        "upload-time": file.uploaded,
    }
    if file.requires_python:
        described["requires-python"] = file.requires_python
    if file.metadata_sha256:
        described["core-metadata"] = {"sha256": file.metadata_sha256}
    if file.has_provenance:
        described["provenance"] = f"{_address(file)}.provenance"
    if file.has_signature:
        described["gpg-sig"] = True
    return described


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _address(file: IndexedFile) -> str:
    """Relative to the page of its project; some stores of files read a bare "+" as a space."""
    return f"../../{quote(file.filename)}"
