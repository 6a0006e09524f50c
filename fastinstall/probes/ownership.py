"""Which distributions claim files of PIL, and whether those files are still as their RECORD says.

Source of the RECORD format: PyPA "Recording installed projects".
"""

import base64
import csv
import hashlib
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from fastinstall.model.facts import Distribution, Owner

_PACKAGE = "PIL/"
_CORE = "PIL/_imaging."
_WRITTEN_LAST = ("RECORD", "INSTALLER", "METADATA", "")


def observe_owners(
    site_packages: Path, replaces: tuple[str, ...], distributions: tuple[Distribution, ...]
) -> tuple[Owner, ...]:
    """The distributions that are named like one of `replaces`, or whose RECORD lists files below `PIL/`."""
    digests = _Digests(site_packages)
    claims = ((distribution, _record(site_packages, distribution)) for distribution in distributions)
    return tuple(
        _owner(site_packages, distribution, record, digests)
        for distribution, record in claims
        if distribution.name in replaces or (record is not None and _claims_package(record))
    )


def claimed_files(site_packages: Path, owners: tuple[Owner, ...]) -> frozenset[str]:
    """Every file that the RECORDs of `owners` list, relative to site-packages."""
    records = (_record(site_packages, owner.distribution) for owner in owners)
    return frozenset(row.path for record in records if record is not None for row in _rows(record))


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    digest: str
    size: str


@dataclass(frozen=True, slots=True)
class _Digests:
    """Digests of files below site-packages, each file read once however many RECORDs list it."""

    site_packages: Path
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, path: str, algorithm: str) -> str:
        key = (path, algorithm)
        if key not in self.known:
            with (self.site_packages / path).open("rb") as stream:
                digest = hashlib.file_digest(stream, algorithm).digest()
            self.known[key] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return self.known[key]


def _record(site_packages: Path, distribution: Distribution) -> bytes | None:
    try:
        return (site_packages / distribution.metadata / "RECORD").read_bytes()
    except OSError:
        return None


def _claims_package(record: bytes) -> bool:
    return record.startswith(_PACKAGE.encode()) or b"\n" + _PACKAGE.encode() in record


def _rows(record: bytes) -> Iterator[_Row]:
    """The files of a RECORD, without bytecode: it is made anew whenever it is needed."""
    text = record.decode("utf-8", "surrogateescape")
    for cells in csv.reader(io.StringIO(text, newline="")):
        path, digest, size = (*cells, "", "", "")[:3]
        if path and not path.endswith((".pyc", ".pyo")):
            yield _Row(os.path.normpath(path), digest, size)


def _owner(site_packages: Path, distribution: Distribution, record: bytes | None, digests: _Digests) -> Owner:
    rows = tuple(_rows(record)) if record is not None else ()
    inside = [row for row in rows if not _is_outside(row.path)]
    missing = tuple(row.path for row in rows if not (site_packages / row.path).exists())
    present = (row for row in rows if row.path not in set(missing))
    return Owner(
        distribution=distribution,
        installed_at=_installed_at(site_packages / distribution.metadata),
        has_record=record is not None,
        recorded_core=next((row.digest for row in rows if row.path.startswith(_CORE) and row.digest), None),
        entries=tuple(sorted({distribution.metadata, *(PurePosixPath(row.path).parts[0] for row in inside)})),
        outside=tuple(row.path for row in rows if _is_outside(row.path)),
        files=len(rows),
        mismatched=tuple(row.path for row in present if _differs(site_packages, row, digests)),
        missing=missing,
    )


def _is_outside(path: str) -> bool:
    return path.startswith("/") or PurePosixPath(path).parts[0] == ".."


def _differs(site_packages: Path, row: _Row, digests: _Digests) -> bool:
    """Whether a file on disk is not what RECORD says; one that cannot be read is not."""
    try:
        status = (site_packages / row.path).stat()
        if not stat.S_ISREG(status.st_mode) or (row.size.isdigit() and int(row.size) != status.st_size):
            return True
        algorithm, _, digest = row.digest.partition("=")
        return bool(digest) and digests.of(row.path, algorithm) != digest
    except (OSError, ValueError):
        return True


def _installed_at(metadata: Path) -> str:
    """When the metadata was written: the time of what installers write last."""
    path = next((metadata / name for name in _WRITTEN_LAST if (metadata / name).exists()), None)
    if path is None:
        return ""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
