"""A candidate with what starts it, and the packages that it is made from."""

from pathlib import Path

from fastinstall.bench.settings import USUAL_PRIORITY
from fastinstall.bench.store_kinds import StoreKind
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import Candidate, Kind, Outcome

OWN_LOADER = "own loader"
"""Instead of an adapter, where the user's own code loads."""


@immutable
class CandidateRun:
    """A candidate, and what starts it.

    Attributes:
        candidate: as it is reported.
        site: directories in front of its path.
        store: what its images lie in; None for their files.
        formats: what it decodes, by Pillow's names; empty for all.
        uses_pillow: whether PIL takes part in it, whichever.
        scales: whether it gains by decoding at a part of the size.
        priority: the less, the earlier it is measured.
        absent: why it cannot be measured, known before it is tried; empty if it can.
        absence: what that makes of it.
    """

    candidate: Candidate
    site: tuple[Path, ...] = ()
    store: StoreKind | None = None
    formats: tuple[str, ...] = ()
    uses_pillow: bool = True
    scales: bool = False
    priority: int = USUAL_PRIORITY
    absent: str = ""
    absence: Outcome = Outcome.MISSING

    @property
    def name(self) -> str:
        """Of the candidate."""
        return self.candidate.name

    @property
    def can_be_joined(self) -> bool:
        """Whether another PIL and other settings can be added to it, with nothing but what is installed."""
        alone = self.site and self.candidate.kind is Kind.DECODER
        return self.uses_pillow and self.store is None and not self.candidate.aliased and not alone


@immutable
class Stack:
    """Another PIL, unpacked.

    Attributes:
        title: for people: "pillow 13.0.0 (official wheel)".
        directory: prepended to the path, or None if it could not be made.
        absent: why, where it could not.
    """

    title: str
    directory: Path | None = None
    absent: str = ""


@immutable
class Stacks:
    """What a PIL can be compared with.

    Attributes:
        official: the newest official wheel, or None if it is installed already.
        ours: our build, or None if it is installed already.
    """

    official: Stack | None = None
    ours: Stack | None = None


@immutable
class Library:
    """Packages that a way to decode needs, other than as they are installed.

    Attributes:
        directory: in our cache, that goes in front of the path; None where they could not be had.
        absent: why.
    """

    directory: Path | None = None
    absent: str = ""
