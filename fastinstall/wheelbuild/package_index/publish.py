"""Publish wheels in a directory that serves as a wheelhouse and as a static package index.

Any web server or file share can serve it. The files in the directory decide: wheels that somebody added are listed, and
removed ones leave the pages. Each wheel is checked before it is listed. Attestations are listed if they are beside the
wheel (`WHEEL.provenance`) and match its bytes; installers verify them, not this module.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.parser import HeaderParser
from functools import partial
from pathlib import Path
from typing import Any

from fastinstall.core import files, foreign
from fastinstall.core.archives import ArchiveError
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.index.selection import parse_filename
from fastinstall.index.wheelhouse import read_sound_metadata, read_sums
from fastinstall.observe.session import Session
from fastinstall.wheelbuild.output_directory import (
    discard_halves,
    explain_write_errors,
    lock_directory,
    refuse_links,
    require_writable,
    restore_on_failure,
)
from fastinstall.wheelbuild.package_index.simple_pages import IndexedFile, index_pages

PAGES = "simple"
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
    metadata: str


def require_wheelhouse(directory: Path) -> None:
    """Check before a build that its wheel can be published; nothing is changed.

    Raises:
        FailedError: the directory is not writable, or a wheel in it is damaged or does not match its checksum.
        DocumentError: its SHA256SUMS cannot be read.
        RefusedError: a place of its pages is a link.
    """
    require_writable(directory)
    _refuse_linked_pages(directory)
    _survey(directory, ignore)


def _refuse_linked_pages(directory: Path) -> None:
    projects = (path.relative_to(directory).as_posix() for path in (directory / PAGES).glob("*"))
    refuse_links(directory, (PAGES, *projects))


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
        RefusedError: a place of its pages is a link.
    """
    target = directory / wheel.name
    is_ours = partial(_is_written, directory, target)
    with lock_directory(session, directory), explain_write_errors(directory), restore_on_failure(directory, is_ours):
        _refuse_linked_pages(directory)
        discard_halves(directory, (".whl", "index.html", "index.json", METADATA, SUMS))
        _survey(directory, ignore)
        _refuse_another(target, sha256)
        if not target.exists():
            files.write_bytes(target, wheel.read_bytes())
        wheels = _survey(directory, session.emit)
        _write_sums(directory, {each.file.filename for each in wheels}, {target.name: sha256})
        _write_metadata(directory, wheels)
        _write_pages(directory / PAGES, index_pages([each.file for each in wheels]))
    return target


def _is_written(directory: Path, target: Path, path: Path) -> bool:
    """Return whether publishing may have written a file: the wheel, what is said of wheels, pages, half of one."""
    inside = path.relative_to(directory)
    half = path.name.startswith(".") and not path.is_dir()
    return path == target or inside.parts[0] in (PAGES, SUMS) or path.suffix == METADATA or half


def _refuse_another(target: Path, sha256: str) -> None:
    """Refuse to replace a wheel: somebody may install it by its hash."""
    if target.is_file() and files.sha256(target) != sha256:
        raise FailedError(
            f"{target}: a different wheel of that name exists; the built one has sha256 {sha256}",
            hint=f"build into another directory; or, if nobody installs the old one by its hash: rm {quote(target)}",
        )


def _write_sums(directory: Path, wheels: Iterable[str], added: Mapping[str, str]) -> None:
    """Add checksums, and drop those of missing wheels; those of other files stay."""
    known = read_sums(directory / SUMS)
    gone = {name for name in known if name.endswith(".whl") and "/" not in name} - set(wheels)
    sums = {name: sha256 for name, sha256 in {**known, **added}.items() if name not in gone}
    _write(directory / SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))


def _write_metadata(directory: Path, wheels: Iterable[OfferedWheel]) -> None:
    """Write the metadata beside each wheel (PEP 658), and remove those of missing wheels."""
    for wheel in wheels:
        _write(directory / f"{wheel.file.filename}{METADATA}", wheel.metadata)
    for path in directory.glob(f"*.whl{METADATA}"):
        if not path.with_name(path.name.removesuffix(METADATA)).exists():
            files.discard(path)


def _write_pages(place: Path, pages: Mapping[str, str]) -> None:
    """Write pages, that of a project before the link to it, and remove those of projects without wheels."""
    for path, text in sorted(pages.items(), reverse=True):
        _write(place / path, text)
    for stale in place.rglob("index.*"):
        if stale.relative_to(place).as_posix() not in pages:
            files.discard(stale)
    for project in place.glob("*/"):
        if not any(project.iterdir()):
            project.rmdir()


def _write(path: Path, text: str) -> None:
    """Write a file only if it differs, so that web caches stay valid."""
    if not path.is_file() or path.read_bytes() != text.encode():
        files.write_text(path, text)


def _survey(directory: Path, emit: Emit) -> tuple[OfferedWheel, ...]:
    """Return the wheels of a directory, found sound; nothing is changed."""
    sums = read_sums(directory / SUMS)
    paths = (path for path in sorted(directory.glob("*.whl")) if path.is_file())
    return tuple(_read_wheel(path, sums.get(path.name), emit) for path in paths)


def _read_wheel(path: Path, expected: str | None, emit: Emit) -> OfferedWheel:
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
    return OfferedWheel(
        metadata=metadata,
        file=IndexedFile(
            name=parsed.name,
            version=str(parsed.version),
            filename=path.name,
            sha256=digest,
            size=path.stat().st_size,
            uploaded=f"{added:%Y-%m-%dT%H:%M:%SZ}",
            requires_python=str(HeaderParser().parsestr(metadata).get("Requires-Python", "")).strip(),
            metadata_sha256=hashlib.sha256(metadata.encode()).hexdigest(),
            has_provenance=_is_attested(path, digest, emit),
        ),
    )


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
