"""Try a pin before it is written: ask pip what it would do with it, and without."""

from collections.abc import Mapping
from pathlib import Path

from fastinstall.actions.pip_pin import PipPin, refuse_unwritable
from fastinstall.actions.steps import step_of
from fastinstall.actions.workshop import Workshop
from fastinstall.errors import UndeterminedError
from fastinstall.installers.pip_trial import Outlook, PipConditions, outlook
from fastinstall.model.event import Emit, Noted, Started
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.plan import Plan
from fastinstall.model.steps import PinForPip
from fastinstall.rules.messages import listing
from fastinstall.rules.pip_pins import constraints_text, location
from fastinstall.rules.pip_steps import pip_pin
from fastinstall.rules.pip_trap import Setback, dependants_of, objection, refusal, setbacks
from fastinstall.system import files

_THE_WHEEL_ALONE = ("--no-index", "--no-deps", "--force-reinstall")


@immutable
class Means:
    """What a trial needs.

    Attributes:
        variables: of the shell.
        space: a directory for temporary files.
        emit: listens.
        offline: no index may be asked.
    """

    variables: Mapping[str, str]
    space: Path
    emit: Emit
    offline: bool = False


def tried_pin(plan: Plan, wheel: Path, before: Facts, workshop: Workshop) -> PipPin | None:
    """The pin of a plan, where it has one and pip does well with it; nothing is changed.

    Args:
        plan: a setup.
        wheel: that was built for it.
        before: facts of the environment.
        workshop: tools and places.

    Raises:
        RefusedError: as `refuse_trap` and `refuse_unwritable` say.
    """
    step = step_of(plan, PinForPip)
    if step is None:
        return None
    prefix = Path(plan.environment.prefix)
    refuse_unwritable(prefix)
    pin = PipPin(prefix=prefix, requirement=step.requirement, wheel=wheel, links=step.links)
    space, offline = workshop.cache / "tmp", plan.wish.offline
    means = Means(variables=workshop.variables, space=space, emit=workshop.emit, offline=offline)
    refuse_trap(pin, before, means)
    return pin


def refuse_trap(pin: PipPin, facts: Facts, means: Means) -> None:
    """Raise where pip, held by a pin, would go back on what requires Pillow; nothing is changed.

    Args:
        pin: that is to be.
        facts: of the environment.
        means: of the trial.

    Raises:
        RefusedError: names what would go back, with both versions; where a pin is there already it is a warning.
    """
    names = dependants_of(facts)
    if not names:
        return
    with files.temporary_directory("pin", within=means.space) as space:
        trial = _trial(pin, facts, means, space)
        why = "offline" if means.offline else _try_with_the_index(trial, names)
        if why:
            unknown = f"whether it takes {listing(names)} back is not known"
            message = f"the pin could not be tried against the index ({why}): {unknown}"
            means.emit(Noted(message=message, warning=True))
            _try_with_the_wheel(trial)


@immutable
class _Trial:
    """A pin, where it is tried, and under which two conditions."""

    pin: PipPin
    facts: Facts
    means: Means
    free: PipConditions
    held: PipConditions

    def ask(self, conditions: PipConditions, *words: str) -> Outlook:
        return outlook(self.facts.interpreter, words, conditions, self.means.variables)


def _trial(pin: PipPin, facts: Facts, means: Means, space: Path) -> _Trial:
    file, none = space / "constraints.txt", space / "none.txt"
    file.write_text(constraints_text(pin.requirement, pin.wheel.name), encoding="utf-8")
    none.touch()
    return _Trial(
        pin=pin,
        facts=facts,
        means=means,
        free=PipConditions(constraints=location(none), links=pin.links),
        held=PipConditions(constraints=location(file), links=(*pin.links, location(pin.wheel.parent))),
    )


def _try_with_the_index(trial: _Trial, names: tuple[str, ...]) -> str:
    """Why it could not be tried, or "" if it was tried and passed."""
    message = f"trying the pin: what would pip do about {listing(names)}?"
    trial.means.emit(Started(stage="pin", message=message))
    try:
        free, held = (trial.ask(conditions, "--upgrade", *names) for conditions in (trial.free, trial.held))
    except UndeterminedError as error:
        return error.message
    if free.impossible:
        return free.impossible
    found = setbacks(trial.facts.distributions, free.installs, held.installs, names)
    _object(trial, held.impossible, found if not held.impossible else ())
    return ""


def _try_with_the_wheel(trial: _Trial) -> None:
    """Whether pip finds what the pin asks for, beside no index."""
    name = trial.pin.requirement.partition("==")[0]
    try:
        found = trial.ask(trial.held, *_THE_WHEEL_ALONE, name)
    except UndeterminedError:
        return  # a pip of before dry runs; it was told above that nothing could be tried
    _object(trial, found.impossible)


def _object(trial: _Trial, impossible: str, found: tuple[Setback, ...] = ()) -> None:
    """Refuse, or warn where it was pinned before: then the harm is not of this run's making, and a repair goes on."""
    spoken = objection(found, impossible, trial.pin.requirement)
    if spoken and pip_pin(trial.facts) is None:
        raise refusal(spoken, found, trial.pin.prefix)
    if spoken:
        trial.means.emit(Noted(message=f"{spoken}; it was pinned before, and stays so", warning=True))
