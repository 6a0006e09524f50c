"""The words of verdicts and advice on loading images: rates, shares, gains, and how far a picture is from another."""

from fastinstall.model.loading import CandidateResult, Gain, LoadingRate
from fastinstall.rules.checks._voice import Voice
from fastinstall.rules.holdings import in_words

WORTHWHILE = 1.05
"""The least gain that is worth any trouble."""

SAY = Voice("data-loading")
"""Makes the findings of advice."""

_PRECISE = 100
"""Below it a rate has a decimal."""


def rate(images_per_second: float) -> str:
    """Images per second, with no more digits than mean something."""
    return f"{images_per_second:,.0f}" if images_per_second >= _PRECISE else f"{images_per_second:.1f}"


def who_loads(measured: LoadingRate) -> str:
    """Who loads how much: "2 workers load 890 images/s"."""
    number = f"{rate(measured.images_per_second)} images/s"
    if not measured.workers:
        return f"one process loads {number}"
    return f"{measured.workers} worker{'s load' if measured.workers > 1 else ' loads'} {number}"


def percent(part: float) -> str:
    """A share: "71%"."""
    return f"{part:.0%}"


def times(gain: Gain) -> str:
    """How many times as fast, and within which bounds: "1.82 times as fast (1.75 to 1.90 in 5 rounds)"."""
    bounds = f" ({gain.low:.2f} to {gain.high:.2f} in {gain.rounds} rounds)" if gain.rounds > 1 else ""
    return f"{gain.ratio:.2f} times as fast{bounds}"


def unlike(result: CandidateResult) -> str:
    """What makes its pictures others than the baseline's; empty where they are as good as the same."""
    difference = result.difference
    if difference is not None and not difference.same_shape:
        return "not the same picture: it has another size"
    far = "" if difference is None else f"mean difference {difference.mean:.1f} levels"
    if result.candidate.aliased:
        return ", ".join(filter(None, ("aliased: not the same picture", far)))
    return f"not the same picture: {far}" if difference is not None and difference.mean > LIKE else ""


LIKE = 1.0
"""Mean difference of a channel, in levels of 0 to 255, up to which two pictures count as the same."""


def size(count: float) -> str:
    """Bytes: "4.9 GB"."""
    return in_words(round(count))
