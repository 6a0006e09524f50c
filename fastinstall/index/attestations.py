"""The verification of a file's publishers by Sigstore's signatures, without a network (PEP 740).

The index says which publisher it trusts for a distribution; what is verified is that this publisher signed this file,
by its hash and name, and that the signature is in Sigstore's transparency log. The trust root is the one that comes
with the distribution `sigstore`. Needs the extra `fastinstall[attestations]`.
"""

import importlib.util
import logging
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from fastinstall.core import codec, files, foreign, temporary_directories
from fastinstall.core.errors import DocumentError, FailedError, RefusedError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.index.downloads import discarding_refused, locate_attestation
from fastinstall.model.artefact import Artefact


class AttestationVerdict(StrEnum):
    """What came of looking for a file's attestations."""

    VERIFIED = "verified"
    NOT_PUBLISHED = "not-published"
    UNVERIFIABLE = "unverifiable"


@immutable
class Attestation:
    """Who published a file, as far as it is known. One that is invalid is a `FailedError`, not a value.

    Attributes:
        verdict: what came of looking for it.
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
    with discarding_refused(path):
        found = _find_attestation(path, artefact, download)
    files.write_text(locate_attestation(path), codec.dump(codec.encode(found)))
    return found


def describe_attestation(attestation: Attestation) -> str:
    """Describe it in words, to stand after the name of the file."""
    return {
        AttestationVerdict.VERIFIED: f"attested by {', '.join(attestation.publishers)}",
        AttestationVerdict.UNVERIFIABLE: f"an attestation is published but was not verified: {attestation.reason}",
        AttestationVerdict.NOT_PUBLISHED: "no attestation is published",
    }[attestation.verdict]


def read_recorded_attestation(path: Path) -> Attestation | None:
    """Read the attestation stored beside a file, or return None if there is none."""
    note = locate_attestation(path)
    try:
        return codec.decode(Attestation, json_data(foreign.read_bytes(note)), file=note)
    except (OSError, ValueError, DocumentError):
        return None


def _find_attestation(path: Path, artefact: Artefact, download: Callable[[str, Path], None]) -> Attestation:
    """Check the attestation. Whoever can withhold it can also hide that it exists: its absence is no failure."""
    if importlib.util.find_spec("pypi_attestations") is None:
        return _make_unverifiable(f"install the extra: {EXTRA}")
    with temporary_directories.temporary_directory("attestation") as directory:
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
