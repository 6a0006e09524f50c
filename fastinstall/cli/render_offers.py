"""The recipes side by side, as answers of a menu."""

from collections.abc import Iterator, Sequence

from fastinstall.api.comparing import Offer
from fastinstall.model.recipe import Recipe
from fastinstall.rules.advisories import count_by_severity


def offer_answers(offers: Sequence[Offer]) -> dict[str, str]:
    """Name of a recipe to its label in a menu, in the order of the offers."""
    return {offer.recipe.name: _named(offer.recipe) for offer in offers}


def offer_meanings(offers: Sequence[Offer]) -> dict[str, str]:
    """Name of a recipe to what is known of it, in the order of the offers."""
    return {offer.recipe.name: "; ".join((offer.recipe.summary, *_sentences(offer))) for offer in offers}


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
    if offer.speed is not None:
        day = offer.speed.measured_at.partition("T")[0]
        return f"{code}; measured here {day}: {offer.speed.geomean:.2f} times as fast as {offer.speed.baseline}"
    figure = offer.recipe.bench.measured
    return f"{code}; measured elsewhere: {figure}" if figure else code


def _code(recipe: Recipe) -> str:
    if recipe.kernels is not None:
        return "SIMD kernels on today's Pillow"
    return "SIMD kernels of an older Pillow" if recipe.expect.symbols else "stock code, optimised"
