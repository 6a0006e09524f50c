"""Cases in which a right build computes something else than the official wheel of its platform, each with its reason.

Everything else has to be equal to the bit, for recipes that build Pillow's own source.
"""

from collections.abc import Iterable, Mapping

from fastinstall.core.architecture import AARCH64
from fastinstall.core.values import immutable
from fastinstall.proof.cases import CaseDifference


@immutable
class KnownDifference:
    """A case that differs.

    Attributes:
        architecture: whose official wheel gives something else, as the kernel names it.
        case: of the proof, by its whole name.
        largest: the largest difference of one sample, in steps of its mode.
        reason: why it is not equal.
    """

    architecture: str
    case: str
    largest: float
    reason: str


KNOWN_DIFFERENCES = (
    KnownDifference(
        architecture=AARCH64.machine,
        case="resize/I/35x13/box,3x131",
        largest=1,
        reason="the sum lies half-way between 35,993 and 35,994; the official wheel's compiler fuses products "
        "and sums of several statements, -ffp-contract=on those of one. The only one of 40,726 cases (2026-11-28)",
    ),
)


def find_known_differences(architecture: str) -> Mapping[str, float]:
    """Return how far each case may differ from an architecture's official wheel, in steps, by the case's name."""
    return {each.case: each.largest for each in KNOWN_DIFFERENCES if each.architecture == architecture}


def exclude_known(found: Iterable[CaseDifference], known: Mapping[str, float]) -> tuple[CaseDifference, ...]:
    """Leave out the cases that differ no further than it is known of them."""
    return tuple(each for each in found if each.case not in known or each.problem or each.largest > known[each.case])
