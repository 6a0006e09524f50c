"""Publish wheels in a directory that serves as a wheelhouse and as a static package index.

Any web server or file share can serve the directory. The pages list exactly the wheels in the directory, including
those that somebody else has added. Each wheel is checked before it is listed.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.archives import ArchiveError
from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote
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
from fastinstall.wheelbuild.package_index.simple_pages import IndexedFile, index_pages

PAGES = "simple"
SUMS = "SHA256SUMS"
METADATA = ".metadata"


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
        _refuse_another(target, sha256)
        with replace_files(directory) as staged:
            wheels[target.name] = _read_wheel(staged.write(target.name, wheel.read_bytes()), sha256)
            sums = {**_list_remaining_sums(directory, wheels), target.name: sha256}
            staged.write(SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode())
            pages = index_pages(wheels.values())
            for name, each in wheels.items():
                staged.write(f"{name}{METADATA}", each.metadata.encode())
            for path, text in sorted(pages.items(), reverse=True):  # projects' pages before the root page
                staged.write(f"{PAGES}/{path}", text.encode())
            for needless in _list_needless(directory, wheels, pages):
                staged.remove(needless)
    return target


def _refuse_another(target: Path, sha256: str) -> None:
    """Raise if a different wheel has the same name: somebody may install the existing one by its hash."""
    if target.is_file() and files.sha256(target) != sha256:
        raise FailedError(
            f"{target}: a different wheel of that name exists; the built one has sha256 {sha256}",
            hint=f"build into another directory; or, if nobody installs the old one by its hash: rm {quote(target)}",
        )


def _list_remaining_sums(directory: Path, wheels: Mapping[str, IndexedFile]) -> dict[str, str]:
    """Return the checksums in SHA256SUMS, except those of wheels that are gone."""
    known = read_sums(directory / SUMS)
    missing = {name for name in known if name.endswith(".whl") and "/" not in name and name not in wheels}
    return {name: sha256 for name, sha256 in known.items() if name not in missing}


def _list_needless(directory: Path, wheels: Mapping[str, IndexedFile], pages: Mapping[str, str]) -> Iterator[Path]:
    """Yield the metadata files of wheels that are gone, and the pages of projects without wheels."""
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
