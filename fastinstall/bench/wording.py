"""Word what was measured, for verdicts and advice: rates, gains, sizes, differences between pictures. Pure."""

from fastinstall.bench.report import CandidateResult, Gain, LoadingRate
from fastinstall.core.messages import format_bytes
from fastinstall.model.finding import FindingFactory

WORTHWHILE = 1.05
"""The smallest worthwhile gain."""


SAY = FindingFactory("data-loading")
"""Creates the findings of advice."""


_PRECISE = 100
"""Below this, a rate has a decimal."""


def format_rate(images_per_second: float) -> str:
    """Return images per second, with significant digits only."""
    return f"{images_per_second:,.0f}" if images_per_second >= _PRECISE else f"{images_per_second:.1f}"


def describe_worker_rate(measured: LoadingRate) -> str:
    """Return who loads how much: "2 workers load 890 images/s"."""
    number = f"{format_rate(measured.images_per_second)} images/s"
    if not measured.workers:
        return f"one process loads {number}"
    return f"{measured.workers} worker{'s load' if measured.workers > 1 else ' loads'} {number}"


def describe_gain(gain: Gain) -> str:
    """Return a gain with its bounds: "1.82 times as fast (1.75 to 1.90 in 5 rounds)"."""
    bounds = f" ({gain.low:.2f} to {gain.high:.2f} in {gain.rounds} rounds)" if gain.rounds > 1 else ""
    return f"{gain.ratio:.2f} times as fast{bounds}"


def describe_picture_difference(result: CandidateResult) -> str:
    """Return how its pictures differ from the baseline's; empty if they are practically the same."""
    difference = result.difference
    if difference is not None and not difference.same_shape:
        return "not the same picture: it has another size"
    far = "" if difference is None else f"mean difference {difference.mean:.1f} levels"
    if result.candidate.aliased:
        return ", ".join(filter(None, ("aliased: not the same picture", far)))
    return f"not the same picture: {far}" if difference is not None and difference.mean > LIKE else ""


LIKE = 1.0
"""Two pictures count as the same up to this mean difference of a channel, in levels of 0 to 255."""


def format_size(count: float) -> str:
    """Return bytes for people: "4.9 GB"."""
    return format_bytes(round(count))
