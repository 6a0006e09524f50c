"""Which distributions claim files of PIL, and whether those files are still as their RECORD says.

Source of the RECORD format: PyPA "Recording installed projects".
"""

import base64
import csv
import hashlib
import io
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from fastinstall.model.facts import Distribution, Owner
from fastinstall.system import foreign

_PACKAGE = "PIL/"
_CORE = "PIL/_imaging."
_SMALL = 1 << 20
_WRITTEN_LAST = ("RECORD", "INSTALLER", "METADATA", "")


def observe_owners(
    site_packages: Path,
    replaces: tuple[str, ...],
    distributions: tuple[Distribution, ...],
    *,
    thorough: bool = True,
) -> tuple[Owner, ...]:
    """The distributions that are named like one of `replaces`, or whose RECORD lists files below `PIL/`.

    Args:
        site_packages: where they lie.
        replaces: names of distributions that provide PIL, normalised.
        distributions: everything installed there.
        thorough: read every file. Else a file of the recorded size that has not changed since its RECORD was written,
            by its times of modification and of change of status, counts as it was recorded.
    """
    digests = _Digests(str(site_packages), thorough=thorough)
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
    """A line of a RECORD."""

    path: str
    digest: str
    size: str


@dataclass(frozen=True, slots=True)
class _Digests:
    """Digests of files below site-packages, each file read once however many RECORDs list it."""

    root: str
    thorough: bool
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, path: str, algorithm: str) -> str:
        key = (path, algorithm)
        if key not in self.known:
            self.known[key] = base64.urlsafe_b64encode(_digest(f"{self.root}/{path}", algorithm)).rstrip(b"=").decode()
        return self.known[key]


def _digest(path: str, algorithm: str) -> bytes:
    """A small file is hashed in one piece, which takes half the time; a large one never lies in memory whole."""
    with foreign.opened(path) as stream:
        if os.fstat(stream.fileno()).st_size > _SMALL:
            return hashlib.file_digest(stream, algorithm).digest()
        return hashlib.new(algorithm, stream.read()).digest()


def _record(site_packages: Path, distribution: Distribution) -> bytes | None:
    try:
        return foreign.read_bytes(site_packages / distribution.metadata / "RECORD")
    except OSError:
        return None


def _claims_package(record: bytes) -> bool:
    return record.startswith(_PACKAGE.encode()) or b"\n" + _PACKAGE.encode() in record


@lru_cache(maxsize=2)
def _rows(record: bytes) -> tuple[_Row, ...]:
    """The files of a RECORD, without bytecode: it is made anew whenever it is needed."""
    text = record.decode("utf-8", "surrogateescape")
    try:
        return tuple(_read_rows(csv.reader(io.StringIO(text, newline=""))))
    except csv.Error:  # a field without end
        return ()


def _read_rows(lines: Iterable[list[str]]) -> Iterator[_Row]:
    for cells in lines:
        path, digest, size = (*cells, "", "", "")[:3]
        if path and not path.endswith((".pyc", ".pyo")):
            yield _Row(os.path.normpath(path), digest, size)


def _owner(site_packages: Path, distribution: Distribution, record: bytes | None, digests: _Digests) -> Owner:
    rows = _rows(record) if record is not None else ()
    inside = [row for row in rows if not _is_outside(row.path)]
    missing = [row.path for row in rows if not os.path.exists(f"{digests.root}/{row.path}")]  # noqa: PTH110 (likewise)
    absent, written = frozenset(missing), _written(site_packages / distribution.metadata / "RECORD")
    return Owner(
        distribution=distribution,
        installed_at=_installed_at(site_packages / distribution.metadata),
        has_record=record is not None,
        recorded_core=next((row.digest for row in rows if row.path.startswith(_CORE) and row.digest), None),
        entries=tuple(sorted({distribution.metadata, *(row.path.partition("/")[0] for row in inside)})),
        outside=tuple(row.path for row in rows if _is_outside(row.path)),
        files=len(rows),
        mismatched=tuple(row.path for row in rows if row.path not in absent and _differs(row, written, digests)),
        missing=tuple(missing),
    )


def _written(record: Path) -> int:
    """When a RECORD was written, in nanoseconds since the epoch; 0 where there is none."""
    try:
        return record.stat().st_mtime_ns
    except OSError:
        return 0


def _is_outside(path: str) -> bool:
    return path.startswith("/") or path.partition("/")[0] == ".."


def _differs(row: _Row, written: int, digests: _Digests) -> bool:
    """Whether a file on disk is not what RECORD says; one that cannot be read is not."""
    try:
        status = os.stat(f"{digests.root}/{row.path}")  # noqa: PTH116 (like `_digest`)
        if not stat.S_ISREG(status.st_mode) or (row.size.isdigit() and int(row.size) != status.st_size):
            return True
        if not digests.thorough and max(status.st_mtime_ns, status.st_ctime_ns) <= written:
            return False
        algorithm, _, digest = row.digest.partition("=")
        return bool(digest) and digests.of(row.path, algorithm) != digest
    except (OSError, ValueError, TypeError):  # what its hash is named after makes none of a fixed length
        return True


def _installed_at(metadata: Path) -> str:
    """When the metadata was written: the time of what installers write last."""
    path = next((metadata / name for name in _WRITTEN_LAST if (metadata / name).exists()), None)
    if path is None:
        return ""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
