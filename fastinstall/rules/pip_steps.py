"""The part of a plan that holds pip and uv to the stack in a virtual environment. Pure."""

from fastinstall.errors import RefusedError
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.pins import PinKind, PinState
from fastinstall.model.plan import Skipped
from fastinstall.model.steps import Build, PinForPip
from fastinstall.model.wish import Wish
from fastinstall.rules.messages import quote
from fastinstall.rules.pins import HOLDS_BACK, NAME
from fastinstall.rules.pip_pins import CONFIGURATION, DIRECTORY, insertion, requirement_of
from fastinstall.rules.situation import Situation

_HOLDS = "pip in this environment, and uv in a shell that has read environment.sh, keep to this build"


@immutable
class PipPart:
    """What a plan has more where pip is held; all of it empty elsewhere.

    Attributes:
        steps: that put the pin there.
        skipped: why it is not needed.
    """

    steps: tuple[PinForPip, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def pip_part(situation: Situation, build: Build) -> PipPart:
    """What a plan has more, for what is built.

    Raises:
        RefusedError: a pin is there, and what is built bears a name that it cannot hold.
    """
    if not wants_pip_pin(situation.facts, situation.wish):
        return PipPart()
    prefix = situation.facts.environment.prefix
    if build.distribution != NAME:
        raise RefusedError(
            f"{prefix} is pinned to a build named {NAME}, and a pin on {build.distribution} would hold nothing",
            hint=f"take the pin away first: fastinstall guard remove --prefix {quote(prefix)}",
        )
    requirement = requirement_of(build.distribution, build.version)
    there = pip_pin(situation.facts)
    if keeps_pip_pin(situation) and there is not None:
        return PipPart(skipped=(Skipped(step="pin", reason=f"{there.file} holds pip to {there.requirement} already"),))
    return PipPart(steps=(_step(situation, requirement, there),))


def wants_pip_pin(facts: Facts, wish: Wish) -> bool:
    """Whether a setup leaves a pin for pip: where it is wished, and where there is one that has to go along."""
    return facts.environment.kind is EnvironmentKind.VENV and (wish.pin or pip_pin(facts) is not None)


def keeps_pip_pin(situation: Situation) -> bool:
    """Whether the pin that is there stays as it is: the very build that it is for is put back."""
    there = pip_pin(situation.facts)
    return situation.restoring and there is not None and not there.problems


def pip_pin(facts: Facts) -> PinState | None:
    """The pin for pip that is there."""
    return next((pin for pin in facts.pins if pin.kind == PinKind.PIP), None)


def _step(situation: Situation, requirement: str, there: PinState | None) -> PinForPip:
    prefix, links = situation.facts.environment.prefix, situation.links
    why = "--pin" if situation.wish.pin else f"a pin on {there.requirement if there else 'another'} is there"
    repeated = f"; other places of wheels that pip is told of ({' '.join(links)}) are repeated there" if links else ""
    return PinForPip(
        file=CONFIGURATION,
        directory=DIRECTORY,
        requirement=requirement,
        text=insertion(b"", prefix, links).text,
        links=links,
        reason=f"{why}: {_HOLDS}; {HOLDS_BACK}{repeated}",
    )
