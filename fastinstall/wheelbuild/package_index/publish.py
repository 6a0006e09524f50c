"""Publish wheels in a directory that serves as a wheelhouse and as a static package index.

Any web server or file share can serve it. The files in the directory decide: wheels that somebody added are listed, and
removed ones leave the pages. Each wheel is checked before it is listed. Attestations are listed if they are beside the
wheel (`WHEEL.provenance`) and match its bytes; installers verify them, not this module.
"""

import base64
import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.parser import HeaderParser
from functools import partial
from pathlib import Path
from typing import Any

from fastinstall.core import files, foreign
from fastinstall.core.archive_members import ArchiveError
from fastinstall.core.archives import sound_zip
from fastinstall.core.codec import digest
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.index.file_names import parse_filename
from fastinstall.index.sound_wheels import metadata_of, read_sound_metadata
from fastinstall.index.wheelhouse import read_sums
from fastinstall.observe.session import Session
from fastinstall.wheelbuild.package_index.front_page import MARK, front_page
from fastinstall.wheelbuild.package_index.pages import IndexedFile, index_pages
from fastinstall.wheelbuild.restored_directory import (
    discard_halves,
    explain_write_errors,
    make_unwritable_error,
    restore_on_failure,
)
from fastinstall.wheelbuild.wheel_cache import reserve_cache_key

_WRITTEN = (".whl", "index.html", "index.json")
PAGES = "simple"
FRONT_PAGE = "index.html"
SUMS = "SHA256SUMS"
METADATA = ".metadata"
_PROVENANCE = ".provenance"


@immutable
class OfferedWheel:
    """A checked wheel of a directory.

    Attributes:
        file: its entry in the index.
        metadata: the content of its METADATA.
    """

    file: IndexedFile
    metadata: bytes


def require_wheelhouse(session: Session, directory: Path) -> None:
    """Check before a build that its wheel can be published; nothing is changed.

    Raises:
        FailedError: the directory is not writable, or a wheel in it is damaged or does not match its checksum.
        DocumentError: its SHA256SUMS cannot be read.
    """
    require_writable(directory)
    survey(directory, session.emit)


def publish_wheel(session: Session, wheel: Path, sha256: str, directory: Path) -> Path:
    """Put a wheel into a directory, with its checksum, and update the directory's index.

    Args:
        session: for the caches and events.
        sha256: its hash, in hexadecimal digits.
        directory: created if missing; existing files stay.

    Returns:
        The wheel in its place.

    Raises:
        FailedError: another wheel of that name exists, an existing wheel is damaged, or the directory is not writable;
            then nothing was changed.
        EnvironmentDamagedError: it could be written in part only, and that not be taken back.
        DocumentError: its SHA256SUMS cannot be read.
    """
    target = directory / wheel.name
    is_ours = partial(_is_written, directory, target)
    with lock_directory(session, directory), explain_write_errors(directory), restore_on_failure(directory, is_ours):
        discard_halves(directory, (*_WRITTEN, METADATA, SUMS))
        survey(directory, ignore)
        _refuse_another(target, sha256)
        if not target.exists():
            files.write_bytes(target, wheel.read_bytes())
        _add_sum(directory / SUMS, sha256, target.name)
        write_index(directory, survey(directory, session.emit))
    return target


@contextmanager
def lock_directory(session: Session, directory: Path) -> Iterator[None]:
    """Let only one of this user's runs write a directory at a time."""
    key = f"index-{digest(str(directory.resolve()))[:16]}"
    with reserve_cache_key(session.own_cache(), key, session.emit, "writes the same directory"):
        yield


def require_writable(directory: Path) -> None:
    """Check before a build that its result can be written.

    Raises:
        FailedError: it is a file, or not writable.
    """
    there = next(each for each in (directory, *directory.parents) if os.path.lexists(each))
    if not there.is_dir():
        raise make_unwritable_error(directory, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if not os.access(there, os.W_OK | os.X_OK):
        raise make_unwritable_error(directory, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def write_index(directory: Path, wheels: tuple[OfferedWheel, ...]) -> None:
    """Write metadata, checksums and pages of the wheels of a survey, and remove those of missing wheels.

    The page for people is written too, unless somebody put another one there.

    Raises:
        OSError: something cannot be written.
    """
    for wheel in wheels:
        _write(directory / f"{wheel.file.filename}{METADATA}", wheel.metadata)
    _write_sums(directory, {wheel.file.filename: wheel.file.sha256 for wheel in wheels})
    pages = index_pages([wheel.file for wheel in wheels])
    for path, text in sorted(pages.items(), reverse=True):  # the page of a project before the link to it
        _write(directory / PAGES / path, text.encode())
    if wheels and _may_write_front_page(directory / FRONT_PAGE):
        _write(directory / FRONT_PAGE, front_page([wheel.file for wheel in wheels]).encode())
    _tidy(directory, pages)


def survey(directory: Path, emit: Emit) -> tuple[OfferedWheel, ...]:
    """Return the wheels of a directory, by name; nothing is changed.

    Raises:
        FailedError: one of them is not a wheel, is damaged, or does not match SHA256SUMS.
        DocumentError: SHA256SUMS cannot be read.
    """
    sums = read_sums(directory / SUMS)
    return tuple(_read_offered_wheel(path, sums, emit) for path in sorted(directory.glob("*.whl")) if path.is_file())


def _is_written(directory: Path, target: Path, path: Path) -> bool:
    """Return whether publishing may have written a file: the wheel, what is said of wheels, pages, half of one."""
    inside = path.relative_to(directory)
    half = path.name.startswith(".") and not path.is_dir()
    if inside.parts[0] == FRONT_PAGE:
        return _may_write_front_page(path)
    return path == target or inside.parts[0] in (PAGES, SUMS) or path.suffix == METADATA or half


def _may_write_front_page(path: Path) -> bool:
    """Return whether the page for people is one of ours, or not there yet."""
    try:
        return MARK.encode() in foreign.read_bytes(path)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def _refuse_another(target: Path, sha256: str) -> None:
    """Refuse to replace a wheel: somebody may install it by its hash."""
    if target.is_file() and files.sha256(target) != sha256:
        raise FailedError(
            f"{target}: a different wheel of that name exists; the built one has sha256 {sha256}",
            hint=f"build into another directory; or, if nobody installs the old one by its hash: rm {quote(target)}",
        )


def _add_sum(file: Path, sha256: str, name: str) -> None:
    sums = {**read_sums(file), name: sha256}
    files.write_text(file, "".join(f"{sums[each]}  {each}\n" for each in sorted(sums)))


def _write(path: Path, content: bytes) -> None:
    """Write a file only if it differs, so that web caches stay valid."""
    try:
        if path.read_bytes() == content:
            return
    except FileNotFoundError:
        pass
    files.write_bytes(path, content)


def _write_sums(directory: Path, wheels: Mapping[str, str]) -> None:
    """Drop checksums of missing wheels; those of other files and of wheels that somebody added stay."""
    there = read_sums(directory / SUMS)
    kept = {name: sha256 for name, sha256 in there.items() if name in wheels or not _is_wheel_of_here(name)}
    if kept != there:
        _write(directory / SUMS, "".join(f"{kept[name]}  {name}\n" for name in sorted(kept)).encode())


def _is_wheel_of_here(name: str) -> bool:
    return name.endswith(".whl") and "/" not in name


def _tidy(directory: Path, pages: Mapping[str, str]) -> None:
    """Remove metadata of missing wheels, and pages of projects without wheels."""
    for path in directory.glob(f"*.whl{METADATA}"):
        if not path.with_name(path.name.removesuffix(METADATA)).exists():
            files.discard(path)
    for path in (directory / PAGES).glob("*/index.*"):
        if path.relative_to(directory / PAGES).as_posix() not in pages:
            files.discard(path)
    for place in (directory / PAGES).glob("*/"):
        if not any(place.iterdir()):
            place.rmdir()


def _read_offered_wheel(path: Path, sums: Mapping[str, str], emit: Emit) -> OfferedWheel:
    parsed = parse_filename(path.name)
    if parsed is None:
        raise _make_unusable_wheel_error(path, "its name is not a wheel's")
    digest = files.sha256(path)
    if sums.get(path.name, digest).lower() != digest:
        raise FailedError(
            f"{path}: damaged: sha256 is {digest}, but {SUMS} says {sums[path.name]}",
            hint=f"copy it again, or remove it: rm {quote(path)}",
        )
    metadata = _read_wheel_metadata(path, known=path.name in sums)
    headers = HeaderParser().parsestr(metadata.decode("utf-8", "replace"))
    added = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)  # PEP 700
    return OfferedWheel(
        metadata=metadata,
        file=IndexedFile(
            name=parsed.name,
            version=str(parsed.version),
            filename=path.name,
            sha256=digest,
            size=path.stat().st_size,
            uploaded=f"{added:%Y-%m-%dT%H:%M:%SZ}",
            requires_python=str(headers.get("Requires-Python", "")).strip(),
            metadata_sha256=hashlib.sha256(metadata).hexdigest(),
            has_provenance=_is_attested(path, digest, emit),
        ),
    )


def _read_wheel_metadata(wheel: Path, *, known: bool) -> bytes:
    """Return METADATA of an intact wheel; if its checksum is known, only this member is read."""
    try:
        if not known:
            read_sound_metadata(wheel)
        with sound_zip(wheel) as archive:
            return archive.read(f"{metadata_of(archive.files)}/METADATA")
    except ArchiveError as error:
        raise _make_unusable_wheel_error(wheel, error.message) from error
    except KeyError as error:
        raise _make_unusable_wheel_error(wheel, f"it has no {error.args[0]}") from error


def _make_unusable_wheel_error(path: Path, reason: str) -> FailedError:
    return FailedError(f"{path}: cannot list this wheel: {reason}", hint=f"mv {quote(path)} /tmp")


def _is_attested(wheel: Path, digest: str, emit: Emit) -> bool:
    """Return whether attestations beside a wheel match its bytes; installers verify them."""
    beside = wheel.with_name(wheel.name + _PROVENANCE)
    if not beside.is_file():
        return False
    try:
        subjects = _list_attested_hashes(json_data(foreign.read_bytes(beside)))
    except (ValueError, KeyError, TypeError) as error:
        emit(Noted(message=f"{beside}: not listed: not a provenance document (PEP 740): {error!r}", warning=True))
        return False
    if subjects != {digest}:
        emit(Noted(message=f"{beside}: not listed: it belongs to another wheel", warning=True))
    return subjects == {digest}


def _list_attested_hashes(document: dict[str, Any]) -> set[str]:
    """Return the sha256 of each file that a provenance document attests."""
    statements = (
        json_data(base64.b64decode(attestation["envelope"]["statement"]))
        for bundle in document["attestation_bundles"]
        for attestation in bundle["attestations"]
    )
    return {str(subject["digest"]["sha256"]) for statement in statements for subject in statement["subject"]}
