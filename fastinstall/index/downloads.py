"""The store of downloaded files, each in a directory named by its hash, and the verification of their publishers.

A file is stored whole or not at all. What is known of its publisher lies beside it (PEP 740).

Publishers are verified by Sigstore's signatures, without a network. The index says which publisher it trusts for a
distribution; what is verified is that this publisher signed this file, by its hash and name, and that the signature is
in Sigstore's transparency log. The trust root is the one that comes with the distribution `sigstore`. Needs the extra
`fastinstall[attestations]`.
"""

import importlib.util
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path, PurePath

from fastinstall.core import files, foreign, values
from fastinstall.core.errors import DocumentError, FailedError, RefusedError
from fastinstall.core.parsing import json_data
from fastinstall.core.refused_writes import advise_on_cache
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact

_SHA256 = re.compile(r"[0-9a-f]{64}")


def find_stored_file(cache: Path, artefact: Artefact) -> Path | None:
    """The file in the store, if it is there and has the artefact's hash."""
    if not artefact.sha256:
        return None
    path = _place(cache, artefact, artefact.sha256)
    return path if path.is_file() and files.sha256(path) == artefact.sha256 else None


def store(cache: Path, artefact: Artefact, write: Callable[[Path], None]) -> Path:
    """Put a file into the store once its hash is found right.

    Args:
        cache: our cache directory.
        artefact: what the file is said to be.
        write: writes the content to the path that it is given.

    Raises:
        FailedError: the hash is another, or the cache cannot be written.
        RefusedError: the artefact's name or hash is none.
    """
    plain = PurePath(artefact.filename).name == artefact.filename and artefact.filename not in ("", ".", "..")
    if not plain or (artefact.sha256 and not _SHA256.fullmatch(artefact.sha256)):
        raise RefusedError(f"{artefact.filename!r} with sha256 {artefact.sha256!r} is not the name of a file to fetch")
    with writable(cache), files.temporary_directory("download", within=cache / "downloads") as directory:
        fresh = directory / artefact.filename
        write(fresh)
        digest = files.sha256(fresh)
        if digest != (artefact.sha256 or digest):
            raise FailedError(
                f"{artefact.filename}: hash mismatch: expected sha256 {artefact.sha256}, found {digest}",
                hint="nothing was kept. Try again; if it fails again, the index or a proxy alters the file",
                details=(f"from {artefact.url}",),
            )
        target = _place(cache, artefact, digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        with foreign.open_foreign_file(fresh) as stream:
            os.fsync(stream.fileno())
        os.replace(fresh, target)
        files.sync_directory(target.parent)
        return target


def copy(source: Path) -> Callable[[Path], None]:
    """A `write` for `store` that copies a file of this machine; never a link to it."""

    def write(target: Path) -> None:
        if not source.is_file():
            raise FailedError(f"{source}: no such file", hint="rebuild the wheelhouse, or leave out --offline")
        shutil.copyfile(source, target)

    return write


def list_stored_files(cache: Path) -> tuple[Path, ...]:
    """All files in the store that have the hash that their place says, by name."""
    found = (cache / "downloads").glob("[0-9a-f][0-9a-f]/*/*")
    return tuple(sorted((path for path in found if files.sha256(path) == path.parent.name), key=lambda path: path.name))


def _place(cache: Path, artefact: Artefact, digest: str) -> Path:
    return cache / "downloads" / digest[:2] / digest / artefact.filename


@contextmanager
def writable(cache: Path) -> Iterator[None]:
    """A stretch of work in our cache directory, whose troubles are told as such."""
    try:
        yield
    except OSError as error:
        message = f"{files.reason(error, cache)}: cannot save the download"
        raise FailedError(message, hint=advise_on_cache(error, cache)) from error


_NOTE = ".attestation.json"


class AttestationVerdict(StrEnum):
    """What came of looking for a file's attestations."""

    VERIFIED = "verified"
    NOT_PUBLISHED = "not-published"
    UNVERIFIABLE = "unverifiable"


@immutable
class Attestation:
    """Who published a file, as far as it is known. One that is invalid is a `FailedError`, not a value.

    Attributes:
        verdict: in one word.
        publishers: who signed it, in the index's words: "GitHub python-pillow/Pillow wheels.yml".
        reason: why it could not be verified; empty if it was, or if nothing is published.
    """

    verdict: AttestationVerdict
    publishers: tuple[str, ...] = ()
    reason: str = ""


def attest(path: Path, artefact: Artefact, download: Callable[[str, Path], None]) -> Attestation:
    """Verify a file of our store by the attestations that the index publishes, and keep what came of it.

    Args:
        path: of the file in our store.
        artefact: what it is, with the place of its attestations.
        download: writes what a URL gives to a path.

    Raises:
        FailedError: an attestation is invalid; then the file is in the store no more.
        OSError: the store cannot be written.
    """
    known = read_recorded_attestation(path)
    if not artefact.provenance or (known is not None and known.verdict is AttestationVerdict.VERIFIED):
        return known or Attestation(verdict=AttestationVerdict.NOT_PUBLISHED)
    try:
        found = _find_attestation(path, artefact, download)
    except FailedError:
        files.discard(path)
        files.discard(_locate_note(path))
        raise
    files.write_text(_locate_note(path), values.dump(values.encode(found)))
    return found


def describe(attestation: Attestation) -> str:
    """It in words, to stand after the name of the file."""
    return {
        AttestationVerdict.VERIFIED: f"attested by {', '.join(attestation.publishers)}",
        AttestationVerdict.UNVERIFIABLE: f"an attestation is published but was not verified: {attestation.reason}",
        AttestationVerdict.NOT_PUBLISHED: "no attestation is published",
    }[attestation.verdict]


def read_recorded_attestation(path: Path) -> Attestation | None:
    """Read the attestation stored beside a file, or return None if there is none."""
    note = _locate_note(path)
    try:
        return values.decode(Attestation, json_data(foreign.read_bytes(note)), file=note)
    except (OSError, ValueError, DocumentError):
        return None


def _locate_note(path: Path) -> Path:
    return path.with_name(path.name + _NOTE)


def _find_attestation(path: Path, artefact: Artefact, download: Callable[[str, Path], None]) -> Attestation:
    """Whoever can withhold the document can also hide that it exists, so its absence is no failure."""
    if importlib.util.find_spec("pypi_attestations") is None:
        return _make_unverifiable(f"install the extra: {EXTRA}")
    with files.temporary_directory("attestation") as directory:
        document = directory / "provenance.json"
        try:
            download(artefact.provenance, document)
        except (FailedError, RefusedError) as error:
            return _make_unverifiable(error.message)
        content = foreign.read_bytes(document)
    try:
        return Attestation(verdict=AttestationVerdict.VERIFIED, publishers=verify(path, content))
    except OSError as error:
        return _make_unverifiable(f"Sigstore's trust root cannot be read: {error}")


def _make_unverifiable(reason: str) -> Attestation:
    return Attestation(verdict=AttestationVerdict.UNVERIFIABLE, reason=reason)


EXTRA = "python -m pip install 'fastinstall[attestations]'"

logging.getLogger("sigstore").addHandler(logging.NullHandler())  # it would warn of being offline, which is intended


def verify(file: Path, document: bytes) -> tuple[str, ...]:
    """Verify every attestation of a provenance document against a file, and name the publishers.

    Args:
        file: named as the index names it.
        document: the JSON object that the index publishes for it.

    Returns:
        Who signed, in the index's words: "GitHub python-pillow/Pillow wheels.yml".

    Raises:
        FailedError: the document is malformed or empty, or one of its attestations is not for this file, not by the
            publisher that the document names, or not rightly signed.
        OSError: the file or the trust root cannot be read.
    """
    from pypi_attestations import Distribution, Provenance  # noqa: PLC0415 (an extra, and slow to import)

    reason = "the document contains none"
    publishers = []
    try:
        distribution = Distribution.from_file(file)
        for bundle in Provenance.model_validate_json(document).attestation_bundles:
            for attestation in bundle.attestations:
                attestation.verify(bundle.publisher, distribution, offline=True)
            if bundle.attestations:
                publishers.append(" ".join(bundle.publisher.model_dump(exclude_none=True).values()))
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever a forged document provokes, it is not trusted)
        publishers, reason = [], str(error).partition("\n")[0] or type(error).__name__
    if not publishers:
        raise FailedError(
            f"{file.name}: its attestation is invalid: {reason}",
            hint="nothing was kept. The file or its attestation was altered: use another index, or ask the publisher",
        )
    return tuple(publishers)
