"""The wheels of a directory, each checked before an index lists it.

Attestations are listed if they are beside the wheel (`WHEEL.provenance`) and match its bytes; installers verify them,
not this module.
"""

import base64
import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from fastinstall.core import files, foreign
from fastinstall.core.archive_members import ArchiveError
from fastinstall.core.archives import sound_zip
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Noted
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.index.file_names import parse_filename
from fastinstall.index.sound_wheels import metadata_of, read_sound_metadata
from fastinstall.index.wheelhouse import read_sums
from fastinstall.wheelbuild.package_index.pages import IndexedFile

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

    path: Path
    file: IndexedFile
    metadata: bytes


def survey(directory: Path, emit: Emit) -> tuple[OfferedWheel, ...]:
    """Return the wheels of a directory, by name; nothing is changed.

    Raises:
        FailedError: one of them is not a wheel, is damaged, or does not match SHA256SUMS.
        DocumentError: SHA256SUMS cannot be read.
    """
    sums = read_sums(directory / SUMS)
    return tuple(_read_offered_wheel(path, sums, emit) for path in sorted(directory.glob("*.whl")) if path.is_file())


def moment(file: Path) -> str:
    """Return when a file was added, in UTC (PEP 700)."""
    return f"{datetime.fromtimestamp(int(file.stat().st_mtime), UTC):%Y-%m-%dT%H:%M:%SZ}"


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
    return OfferedWheel(
        path=path,
        metadata=metadata,
        file=IndexedFile(
            name=parsed.name,
            version=str(parsed.version),
            filename=path.name,
            sha256=digest,
            size=path.stat().st_size,
            uploaded=moment(path),
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
