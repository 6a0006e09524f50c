"""Publish wheels in a directory that serves as a wheelhouse and as a static package index.

Any web server or file share can serve the directory, under any path, because links in its pages are relative. The
pages, in HTML (PEP 503) and JSON (PEP 691), list exactly the wheels in the directory, including those that somebody
else has added. Each wheel is checked before it is listed. Sources: the simple repository API of packaging.python.org
(PEP 503, 629, 658, 691, 700, 714).
"""

import hashlib
import html
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path
from typing import Any
from urllib.parse import quote as quote_parse

from fastinstall.core import files
from fastinstall.core.archives import ArchiveError
from fastinstall.core.codec import dump
from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.index.selection import parse_filename
from fastinstall.index.wheelhouse import read_sound_metadata, read_sums
from fastinstall.observe.session import Session
from fastinstall.wheelbuild.output_directory import (
    explain_write_errors,
    lock_directory,
    refuse_links,
    replace_files,
    require_writable,
)

PAGES = "simple"
SUMS = "SHA256SUMS"
METADATA = ".metadata"


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


def require_wheelhouse(directory: Path) -> None:
    """Check before a build that its wheel can be published in a directory; nothing is changed.

    Raises:
        FailedError: the directory is not writable, or a wheel in it is damaged or does not match its checksum.
        DocumentError: the directory's SHA256SUMS cannot be read.
        RefusedError: a subdirectory for pages is a link.
    """
    require_writable(directory)
    _refuse_linked_pages(directory)
    _read_wheels(directory)


def _refuse_linked_pages(directory: Path) -> None:
    projects = (path.relative_to(directory).as_posix() for path in (directory / PAGES).glob("*"))
    refuse_links(directory, (PAGES, *projects))


def publish_wheel(session: Session, wheel: Path, sha256: str, directory: Path) -> Path:
    """Copy a wheel into a directory, add its checksum, and update the directory's index.

    Args:
        session: cache and receiver of events of this run.
        sha256: the wheel's hash, in hexadecimal digits.
        directory: the directory; created if missing. Other files in it stay.

    Returns:
        The path of the copy.

    Raises:
        FailedError: a different wheel of that name exists, an existing wheel is damaged, or the directory is not
            writable; nothing was changed.
        EnvironmentDamagedError: the directory was written in part.
        DocumentError: the directory's SHA256SUMS cannot be read.
        RefusedError: a subdirectory for pages is a link.
    """
    target = directory / wheel.name
    with lock_directory(session, directory), explain_write_errors(directory):
        _refuse_linked_pages(directory)
        wheels = _read_wheels(directory)
        # Never replace a wheel with a different one: somebody may already install it by its hash.
        if target.is_file() and files.sha256(target) != sha256:
            raise FailedError(
                f"{target}: a different wheel of that name exists; the built one has sha256 {sha256}",
                hint="build into another directory; or, if nobody installs the old one by its hash: "
                f"rm {quote(target)}",
            )
        with replace_files(directory) as staged:
            wheels[target.name] = _read_wheel(staged.write(target.name, wheel.read_bytes()), sha256)
            known = read_sums(directory / SUMS)
            gone = {name for name in known if name.endswith(".whl") and "/" not in name and name not in wheels}
            sums = {**{name: known[name] for name in known if name not in gone}, target.name: sha256}
            staged.write(SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode())
            pages = index_pages(wheels.values())
            for name, each in wheels.items():
                staged.write(f"{name}{METADATA}", each.metadata.encode())
            # Write the root page last, when the pages that it links to exist.
            for path, text in sorted(pages.items(), key=lambda page: "/" not in page[0]):
                staged.write(f"{PAGES}/{path}", text.encode())
            for needless in _list_needless(directory, wheels, pages):
                staged.remove(needless)
    return target


def _list_needless(directory: Path, wheels: Mapping[str, IndexedFile], pages: Mapping[str, str]) -> Iterator[Path]:
    """Yield obsolete files of the index: metadata of wheels that were removed, and pages of projects without wheels."""
    known = {f"{name}{METADATA}" for name in wheels}
    yield from (path for path in directory.glob(f"*.whl{METADATA}") if path.name not in known)
    place = directory / PAGES
    yield from (path for path in place.rglob("index.*") if path.relative_to(place).as_posix() not in pages)


def _read_wheels(directory: Path) -> dict[str, IndexedFile]:
    """Check the wheels of a directory, and return their descriptions by file name."""
    sums = read_sums(directory / SUMS)
    paths = (path for path in sorted(directory.glob("*.whl")) if path.is_file())
    return {path.name: _read_wheel(path, sums.get(path.name)) for path in paths}


def _read_wheel(path: Path, expected: str | None) -> IndexedFile:
    parsed = parse_filename(path.name)
    if parsed is None:
        raise _make_unusable_wheel_error(path, "its name is not a wheel's")
    digest = files.sha256(path)
    if expected is not None and expected.lower() != digest:
        raise FailedError(
            f"{path}: damaged: sha256 is {digest}, but {SUMS} says {expected}",
            hint=f"copy it again, or remove it: rm {quote(path)}",
        )
    try:
        metadata = read_sound_metadata(path, thorough=expected is None)
    except ArchiveError as error:
        raise _make_unusable_wheel_error(path, error.message) from error
    added = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)  # PEP 700
    return IndexedFile(
        name=parsed.name,
        version=str(parsed.version),
        filename=path.name,
        sha256=digest,
        size=path.stat().st_size,
        uploaded=f"{added:%Y-%m-%dT%H:%M:%SZ}",
        requires_python=str(HeaderParser().parsestr(metadata).get("Requires-Python", "")).strip(),
        metadata=metadata,
    )


def _make_unusable_wheel_error(path: Path, reason: str) -> FailedError:
    return FailedError(f"{path}: cannot list this wheel: {reason}", hint=f"mv {quote(path)} /tmp")


_VERSION = "1.1"  # the first version of the API with sizes and times (PEP 700)


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
    """Return a file's address, relative to its project's page, with "+" quoted: some stores read "+" as a space."""
    return f"../../{quote_parse(file.filename)}"
