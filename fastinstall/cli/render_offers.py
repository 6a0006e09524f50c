"""The recipes side by side as text, and as answers of a menu."""

from collections.abc import Iterator, Sequence

from fastinstall.api.comparing import Offer
from fastinstall.cli.page import Page, joined
from fastinstall.model.recipe import Recipe
from fastinstall.rules.advisories import count_by_severity


def offers_text(offers: Sequence[Offer], page: Page) -> str:
    """For each recipe its version, what is known against it, and how fast it is."""
    lines: list[str] = []
    for offer in offers:
        lines += page.lines(f"{_named(offer.recipe)}: {offer.recipe.summary}", rest="  ", style="bold")
        for sentence in _sentences(offer):
            lines += page.lines(sentence, first="     ", rest="       ")
    return joined(lines)


def offer_answers(offers: Sequence[Offer]) -> dict[str, str]:
    """Name of a recipe to one line about it, in the order of the offers."""
    return {offer.recipe.name: f"{_named(offer.recipe)}: {_version(offer)}" for offer in offers}


def _sentences(offer: Offer) -> Iterator[str]:
    yield _version(offer)
    yield _speed(offer)
    if offer.choice is not None and offer.choice.caution:
        yield offer.choice.caution


def _named(recipe: Recipe) -> str:
    return f"{recipe.name} (recommended)" if recipe.recommended else recipe.name


def _version(offer: Offer) -> str:
    if offer.choice is None:
        return f"nothing fits: {offer.problem}"
    return f"{offer.choice.version}, {_advisories(offer)}"


def _advisories(offer: Offer) -> str:
    if not offer.advisories:
        return "no known advisories"
    counted = ", ".join(f"{number} {severity}" for severity, number in count_by_severity(offer.advisories).items())
    return f"{len(offer.advisories)} known advisories ({counted})"


def _speed(offer: Offer) -> str:
    code = _code(offer.recipe)
    if offer.speed is None:
        return code
    return f"{code}; measured here: {offer.speed.geomean:.2f} times as fast as {offer.speed.baseline}"


def _code(recipe: Recipe) -> str:
    if recipe.kernels is not None:
        return "SIMD kernels on today's Pillow"
    return "SIMD kernels of an older Pillow" if recipe.expect.symbols else "stock code, optimised"
