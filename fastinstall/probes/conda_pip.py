"""The files that a distribution of pip's claims in a conda environment, as claims of conda packages are written.

Source of the RECORD format: PyPA "Recording installed projects".
"""

import base64
import binascii
import csv
import io
import os
from pathlib import Path

from fastinstall.probes.conda_entries import Entry
from fastinstall.system import foreign

_BYTECODE = (".pyc", ".pyo")
_SHA256 = "sha256="


def recorded_entries(record: Path, site_packages: str) -> tuple[Entry, ...]:
    """List a RECORD's files without bytecode; empty if it cannot be read.

    Args:
        record: the file.
        site_packages: relative to the prefix, which what is returned is relative to.
    """
    try:
        text = foreign.read_text(record, errors="surrogateescape")
    except OSError:
        return ()
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:
        return ()
    return tuple(_entry(row, site_packages) for row in rows if row and row[0] and not row[0].endswith(_BYTECODE))


def _entry(row: list[str], site_packages: str) -> Entry:
    path, digest, size = (*row, "", "", "")[:3]
    place = os.path.normpath(f"{site_packages}/{path}")
    return Entry(path=place, wanted=place, size=int(size) if size.isdecimal() else None, sha256=_hexadecimal(digest))


def _hexadecimal(digest: str) -> str:
    """A digest of RECORD ("sha256=..." in base64 without padding) as conda writes it; empty if it is another's."""
    if not digest.startswith(_SHA256):
        return ""
    try:
        return base64.urlsafe_b64decode(digest.removeprefix(_SHA256) + "=").hex()
    except (binascii.Error, ValueError):
        return ""
