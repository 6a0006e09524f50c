"""What is known of a fetched file's publisher, kept beside the file in our store of downloads (PEP 740)."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from fastinstall.errors import DocumentError, FailedError, RefusedError
from fastinstall.installers.downloads import stored
from fastinstall.model import codec
from fastinstall.model.artefact import Artefact
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.system import files, foreign

_NOTE = ".attestation.json"


class Verdict(StrEnum):
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

    verdict: Verdict
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
    known = recorded(path)
    if not artefact.provenance or (known is not None and known.verdict is Verdict.VERIFIED):
        return known or Attestation(verdict=Verdict.NOT_PUBLISHED)
    try:
        found = _looked_for(path, artefact, download)
    except FailedError:
        files.discard(path)
        files.discard(_note(path))
        raise
    files.write_text(_note(path), codec.dump(codec.encode(found)))
    return found


def attestation_of(cache: Path, artefact: Artefact) -> Attestation:
    """What is known of a file that was fetched into our cache directory, without looking anew."""
    path = stored(cache, artefact)
    known = recorded(path) if path is not None else None
    if known is not None:
        return known
    if artefact.provenance:
        return _unverifiable("it was not looked for when the file was fetched")
    return Attestation(verdict=Verdict.NOT_PUBLISHED)


def describe(attestation: Attestation) -> str:
    """It in words, to stand after the name of the file."""
    match attestation.verdict:
        case Verdict.VERIFIED:
            return f"attested by {', '.join(attestation.publishers)}"
        case Verdict.UNVERIFIABLE:
            return f"an attestation is published, and was not verified: {attestation.reason}"
        case Verdict.NOT_PUBLISHED:
            return "no attestation is published"


def _looked_for(path: Path, artefact: Artefact, download: Callable[[str, Path], None]) -> Attestation:
    from fastinstall.installers import signatures  # noqa: PLC0415 (only where there is one to verify)

    if not signatures.can_verify():
        return _unverifiable(f"that needs an extra: {signatures.EXTRA}")
    document = _fetched(artefact.provenance, download)
    if isinstance(document, Attestation):
        return document
    try:
        return Attestation(verdict=Verdict.VERIFIED, publishers=signatures.verify(path, document))
    except OSError as error:
        return _unverifiable(f"Sigstore's trust root cannot be read: {error}")


def _fetched(url: str, download: Callable[[str, Path], None]) -> bytes | Attestation:
    """The document. Whoever can withhold it can also hide that it exists, so its absence is no failure."""
    with files.temporary_directory("attestation") as directory:
        document = directory / "provenance.json"
        try:
            download(url, document)
        except (FailedError, RefusedError) as error:
            return _unverifiable(error.message)
        return foreign.read_bytes(document)


def recorded(path: Path) -> Attestation | None:
    """Read the attestation stored beside a file, or return None if there is none."""
    note = _note(path)
    try:
        return codec.decode(Attestation, json_data(foreign.read_bytes(note)), file=note)
    except (OSError, ValueError, DocumentError):
        return None


def _note(path: Path) -> Path:
    return path.with_name(path.name + _NOTE)


def _unverifiable(reason: str) -> Attestation:
    return Attestation(verdict=Verdict.UNVERIFIABLE, reason=reason)
