"""Known vulnerabilities and defects, as recipes list them. Data only."""

from datetime import date
from enum import StrEnum

from fastinstall.model.immutable import immutable


class Severity(StrEnum):
    """How bad an advisory is, in the words of its source."""

    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"
    CRITICAL = "critical"
    UNRATED = "unrated"


@immutable
class Advisory:
    """A known vulnerability or defect.

    Attributes:
        id: "CVE-2026-...", "GHSA-...", or a name of ours for a defect.
        aliases: further identifiers of the same thing.
        severity: as the source rates it.
        affects: specifier over versions of the upstream Pillow ("<12.2.0").
        summary: one sentence.
        source: where it stands.
        dated: when the data was taken.
        kernels_only: whether only a core with the SIMD kernels has it, and stock Pillow does not.
        component: the bundled library that has it ("libjpeg-turbo"), whose versions `affects` then speaks of;
            empty for the distribution itself.
        demonstration: one line of Python that shows it; empty if there is none.
    """

    id: str
    aliases: tuple[str, ...] = ()
    severity: Severity
    affects: str
    summary: str
    source: str
    dated: date
    kernels_only: bool = False
    component: str = ""
    demonstration: str = ""


@immutable
class AdvisoryList:
    """A file of advisories that several recipes share.

    Attributes:
        schema: 1.
        advisories: what is known.
    """

    schema: int
    advisories: tuple[Advisory, ...]
