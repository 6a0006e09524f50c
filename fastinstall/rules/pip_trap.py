"""The trap of resolvers: held to one Pillow, they go back on whatever requires another, in silence. Pure.

Measured on 2026-11-21: with a constraint, and without the wheel that meets it, imageio went back to 2.0.0.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from fastinstall.errors import RefusedError
from fastinstall.model.facts import Distribution, Facts
from fastinstall.model.immutable import immutable
from fastinstall.rules.messages import listing, quote
from fastinstall.rules.numbering import parsed


@immutable
class Setback:
    """A distribution that pip would take back.

    Attributes:
        name: of the distribution.
        held: the version that pip takes with the pin.
        other: the later one, that is installed or would come without the pin.
        installed: whether that one is installed.
    """

    name: str
    held: str
    other: str
    installed: bool


def dependants_of(facts: Facts) -> tuple[str, ...]:
    """Names of the distributions that require Pillow."""
    return tuple(sorted({dependant.name for dependant in facts.stack.dependants}))


def setbacks(
    there: Sequence[Distribution], free: Mapping[str, str], held: Mapping[str, str], names: Sequence[str]
) -> tuple[Setback, ...]:
    """What would be older with the pin than it is, or than it could be.

    Args:
        there: what is installed.
        free: what pip would install without the pin, normalised name to version.
        held: the same with it.
        names: of the distributions that matter.
    """
    installed = {each.name: each.version for each in there}
    return tuple(found for name in names for found in _setback(name, installed.get(name, ""), free, held))


def objection(found: Sequence[Setback], impossible: str, requirement: str) -> str:
    """Explain in a sentence what speaks against a pin, or return "" if nothing does.

    Args:
        found: what would go back.
        impossible: pip's words, where it finds nothing at all with the pin.
        requirement: of the pin.
    """
    if impossible:
        return f"held to {requirement}, pip can install nothing: {impossible}"
    told = [f"{each.name} {each.held} instead of {each.other}" for each in found]
    return f"held to {requirement}, pip takes {listing(told)}" if told else ""


def refusal(spoken: str, found: Sequence[Setback], prefix: PurePath) -> RefusedError:
    """A pin is not made.

    Args:
        spoken: of `objection`.
        found: what would go back; each is named with both versions.
        prefix: of the environment.
    """
    return RefusedError(
        f"{prefix}: not pinned, nothing was changed: {spoken}",
        hint="go without --pin, or see whether a later build of Pillow fits: "
        f"fastinstall setup --upgrade --prefix {quote(prefix)}",
        details=tuple(
            f"{each.name}: {each.other} {'is installed' if each.installed else 'is what comes without the pin'}"
            for each in found
        ),
    )


def _setback(name: str, installed: str, free: Mapping[str, str], held: Mapping[str, str]) -> Iterator[Setback]:
    comes, could = held.get(name, installed), free.get(name, installed)
    if _older(comes, installed):
        yield Setback(name=name, held=comes, other=installed, installed=True)
    elif _older(comes, could):
        yield Setback(name=name, held=comes, other=could, installed=False)


def _older(one: str, other: str) -> bool:
    try:
        return parsed(one) < parsed(other)
    except ValueError:
        return False
