"""Render the pages of a static package index, as HTML (PEP 503) and JSON (PEP 691). Pure.

Links in the pages are relative, so they work on any web server, under any path, and on a file share. Sources: the
simple repository API of packaging.python.org (PEP 503, 629, 658, 691, 700, 714).
"""

import hashlib
import html
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote as quote_parse

from fastinstall.core.codec import dump
from fastinstall.core.values import immutable

_VERSION = "1.1"  # the first version of the API with sizes and times (PEP 700)


@immutable
class IndexedFile:
    """A wheel that an index lists.

    Attributes:
        name: normalised name of the distribution.
        filename: file name with all tags: "pillow-13.0.0+simd.v2.v3-cp311-cp311-manylinux_2_28_x86_64.whl".
        sha256: hash of the file, in hexadecimal digits.
        size: size of the file, in bytes.
        uploaded: when the file was added, in UTC: "2026-01-31T12:00:00Z".
        requires_python: version specifier of the supported Pythons; empty if the wheel has none.
        metadata: text of the wheel's METADATA, which is also published as a separate file.
    """

    name: str
    version: str
    filename: str
    sha256: str
    size: int
    uploaded: str
    requires_python: str
    metadata: str

    @property
    def metadata_sha256(self) -> str:
        """SHA-256 of METADATA, in hexadecimal digits."""
        return hashlib.sha256(self.metadata.encode()).hexdigest()


def index_pages(files: Iterable[IndexedFile]) -> dict[str, str]:
    """Return the text of all pages by path; the pages link to files in the parent directory of the index."""
    projects: dict[str, list[IndexedFile]] = {}
    for file in sorted(files, key=lambda each: (each.name, each.filename)):
        projects.setdefault(file.name, []).append(file)
    links = (f'<a href="{quote_parse(name)}/">{html.escape(name)}</a>' for name in projects)
    root = {"meta": {"api-version": _VERSION}, "projects": [{"name": name} for name in projects]}
    pages = {"index.html": _render_page("Simple index", links), "index.json": dump(root)}
    for name, offered in projects.items():
        pages[f"{name}/index.html"] = _render_page(f"Links for {name}", map(_render_file_link, offered))
        document = {
            "meta": root["meta"],
            "name": name,
            "versions": list(dict.fromkeys(file.version for file in offered)),
        }
        pages[f"{name}/index.json"] = dump({**document, "files": [_make_file_entry(file) for file in offered]})
    return pages


def _render_file_link(file: IndexedFile) -> str:
    attributes = {"href": f"{_make_file_address(file)}#sha256={file.sha256}"}
    if file.requires_python:
        attributes["data-requires-python"] = file.requires_python
    attributes["data-core-metadata"] = f"sha256={file.metadata_sha256}"
    words = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<a {words}>{html.escape(file.filename)}</a>"


def _render_page(title: str, links: Iterable[str]) -> str:
    body = "".join(f"    {link}<br>\n" for link in links)
    return f"""\
<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="pypi:repository-version" content="{_VERSION}">
    <title>{html.escape(title)}</title>
  </head>
  <body>
{body}  </body>
</html>
"""


def _make_file_entry(file: IndexedFile) -> Mapping[str, Any]:
    described: dict[str, Any] = {
        "filename": file.filename,
        "url": _make_file_address(file),
        "hashes": {"sha256": file.sha256},
        "size": file.size,
        "upload-time": file.uploaded,
        "core-metadata": {"sha256": file.metadata_sha256},
    }
    if file.requires_python:
        described["requires-python"] = file.requires_python
    return described


def _make_file_address(file: IndexedFile) -> str:
    """Return a file's address, relative to its project's page, with "+" quoted: some file stores read it as a space."""
    return f"../../{quote_parse(file.filename)}"
