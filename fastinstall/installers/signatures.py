"""Verifies who published a file by Sigstore's signatures (PEP 740), without a network.

The index says which publisher it trusts for a distribution; what is verified is that this publisher has signed the very
file, by its hash and its name, and that the signature stands in Sigstore's transparency log. The trust root is the one
that comes with the distribution `sigstore`. Needs the extra `fastinstall[attestations]`.
"""

import importlib.util
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.errors import FailedError

if TYPE_CHECKING:
    from pypi_attestations import Provenance

EXTRA = "python -m pip install 'fastinstall[attestations]'"

logging.getLogger("sigstore").addHandler(logging.NullHandler())  # it would warn of being offline, which is intended


def can_verify() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("pypi_attestations") is not None


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

    try:
        provenance = Provenance.model_validate_json(document)
        distribution = Distribution.from_file(file)
        for bundle in provenance.attestation_bundles:
            for attestation in bundle.attestations:
                attestation.verify(bundle.publisher, distribution, offline=True)
    except OSError:
        raise
    except Exception as error:  # whatever a forged document provokes, it is not trusted
        raise _invalid(file, _first_line(error)) from error
    return _publishers(file, provenance)


def _publishers(file: Path, provenance: "Provenance") -> tuple[str, ...]:
    signed = [bundle.publisher for bundle in provenance.attestation_bundles if bundle.attestations]
    if not signed:
        raise _invalid(file, "the document holds none")
    return tuple(" ".join(publisher.model_dump(exclude_none=True).values()) for publisher in signed)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _invalid(file: Path, reason: str) -> FailedError:
    return FailedError(
        f"{file.name}: its attestation is invalid: {reason}",
        hint="nothing was kept: the file or its attestation was altered; ask another index, or its publisher",
    )
