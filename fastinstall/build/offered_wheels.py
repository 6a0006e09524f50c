"""The wheels of a directory, each found sound, with what an index says of it.

Attestations of a wheel count where they lie beside it (`WHEEL.provenance`) and are of these very bytes; they are not
verified here, but by whoever installs it.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from fastinstall.errors import FailedError
from fastinstall.installers.selection import parse_filename
from fastinstall.installers.sound_wheel import read_sound_metadata
from fastinstall.installers.wheelhouse import read_sums
from fastinstall.model.event import Emit, Noted
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.rules.index_pages import IndexedFile
from fastinstall.rules.messages import quote
from fastinstall.rules.wheel_contents import metadata_of
from fastinstall.rules.wheel_variants import FILE, Variant, read_variant, split_label
from fastinstall.system import files, foreign
from fastinstall.system.archive_error import ArchiveError
from fastinstall.system.zips import sound_zip

SUMS = "SHA256SUMS"
METADATA = ".metadata"
_PROVENANCE, _SIGNATURE = ".provenance", ".asc"


@immutable
class OfferedWheel:
    """A wheel of a directory, found sound.

    Attributes:
        path: of the file.
        file: what the index says of it.
        metadata: its METADATA.
        variant: its variant of the version, or None if it has no variant label.
    """

    path: Path
    file: IndexedFile
    metadata: bytes
    variant: Variant | None = None


def survey(directory: Path, emit: Emit) -> tuple[OfferedWheel, ...]:
    """The wheels of a directory, by name; nothing is changed.

    Raises:
        FailedError: one of them is no wheel, is damaged, or is not what SHA256SUMS says.
        DocumentError: SHA256SUMS cannot be read.
    """
    sums = read_sums(directory / SUMS)
    found = tuple(_offered(path, sums, emit) for path in sorted(directory.glob("*.whl")) if path.is_file())
    _refuse_ambiguous(found)
    return found


def moment(file: Path) -> str:
    """When a file came here, in UTC (PEP 700)."""
    return f"{datetime.fromtimestamp(int(file.stat().st_mtime), UTC):%Y-%m-%dT%H:%M:%SZ}"


def _offered(path: Path, sums: Mapping[str, str], emit: Emit) -> OfferedWheel:
    plain, label = split_label(path.name)
    parsed = parse_filename(plain)
    if parsed is None:
        raise _no_wheel(path, "its name is not that of a wheel")
    digest = files.sha256(path)
    if sums.get(path.name, digest).lower() != digest:
        raise FailedError(
            f"{path}: damaged: sha256 is {digest}, but {SUMS} says {sums[path.name]}",
            hint=f"copy it there again; or take it away: rm {quote(path)}",
        )
    metadata, variant = _metadata_of(path, label, known=path.name in sums)
    headers = HeaderParser().parsestr(metadata.decode("utf-8", "replace"))
    return OfferedWheel(
        path=path,
        metadata=metadata,
        variant=variant,
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
            has_signature=path.with_name(path.name + _SIGNATURE).is_file(),
        ),
    )


def _metadata_of(wheel: Path, label: str, *, known: bool) -> tuple[bytes, Variant | None]:
    """METADATA of a sound wheel, and its variant; of one whose sum is known, only these members are read."""
    try:
        if not known:
            read_sound_metadata(wheel)
        with sound_zip(wheel) as archive:
            place = metadata_of(archive.files)
            variant = read_variant(archive.read(f"{place}/{FILE}").decode(), label) if label else None
            return archive.read(f"{place}/METADATA"), variant
    except ArchiveError as error:
        raise _no_wheel(wheel, error.message) from error
    except KeyError as error:
        raise _no_wheel(wheel, f"it has no {error.args[0]}") from error
    except ValueError as error:
        raise _no_wheel(wheel, f"{FILE}: {error}") from error


def _refuse_ambiguous(wheels: Iterable[OfferedWheel]) -> None:
    """A variant label means the same for all wheels of a version (PEP 825)."""
    known: dict[tuple[str, str, str], Variant] = {}
    for wheel in wheels:
        if wheel.variant is not None:
            key = (wheel.file.name, wheel.file.version, wheel.variant.label)
            if known.setdefault(key, wheel.variant) != wheel.variant:
                raise _no_wheel(wheel.path, f"another wheel means something else by the label {wheel.variant.label!r}")


def _no_wheel(path: Path, reason: str) -> FailedError:
    return FailedError(f"{path}: not a wheel that can be offered: {reason}", hint=f"mv {quote(path)} /tmp")


def _is_attested(wheel: Path, digest: str, emit: Emit) -> bool:
    """Whether attestations lie beside a wheel that are of its very bytes; whoever installs it verifies them."""
    beside = wheel.with_name(wheel.name + _PROVENANCE)
    if not beside.is_file():
        return False
    try:
        subjects = _subjects(json_data(foreign.read_bytes(beside)))
    except (ValueError, KeyError, TypeError) as error:
        emit(Noted(message=f"{beside}: not offered: no provenance document (PEP 740): {error!r}", warning=True))
        return False
    if subjects != {digest}:
        emit(Noted(message=f"{beside}: not offered: it is not of the wheel that lies beside it", warning=True))
    return subjects == {digest}


def _subjects(document: dict[str, Any]) -> set[str]:
    """The sha256 of each file that the attestations of a provenance document are of."""
    statements = (
        json_data(base64.b64decode(attestation["envelope"]["statement"]))
        for bundle in document["attestation_bundles"]
        for attestation in bundle["attestations"]
    )
    return {str(subject["digest"]["sha256"]) for statement in statements for subject in statement["subject"]}
