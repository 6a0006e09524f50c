"""Hold pip and uv to the stack in a virtual environment, after asking pip what the pin would downgrade.

Resolvers have a trap: held to one Pillow, they silently take older versions of whatever requires another. Measured on
2026-11-21: with a constraint, and without the wheel that meets it, imageio went back to 2.0.0. So pip is asked for its
plan with and without the pin before the pin is written.

The module also makes the pin's part of a plan, and writes and removes the pin by a transaction.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from fastinstall.core import files, foreign
from fastinstall.core.errors import RefusedError, UndeterminedError
from fastinstall.core.events import Emit, Noted, Started
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.index.pip import PipConditions, PipForecast, forecast_pip_install
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Distribution, Facts, PinKind, PinState
from fastinstall.model.receipt import Move, MoveKind
from fastinstall.model.request import EnvironmentKind, Request
from fastinstall.observe.pip_pins import (
    CONFIGURATION,
    CONSTRAINTS,
    DIRECTORY,
    ENVIRONMENT,
    WHEELS,
    constraints_text,
    environment_text,
    insertion,
    location,
    read_pinned_settings,
    remove_pin_block,
    settings,
)


@immutable
class ForcedDowngrade:
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


def find_forced_downgrades(
    there: Sequence[Distribution], free: Mapping[str, str], held: Mapping[str, str], names: Sequence[str]
) -> tuple[ForcedDowngrade, ...]:
    """What would be older with the pin than it is, or than it could be.

    Args:
        there: what is installed.
        free: what pip would install without the pin, normalised name to version.
        held: the same with it.
        names: of the distributions that matter.
    """
    installed = {each.name: each.version for each in there}
    found = []
    for name in names:
        now = installed.get(name, "")
        comes, could = held.get(name, now), free.get(name, now)
        other = next((version for version in (now, could) if _is_older(comes, version)), None)
        if other is not None:
            found.append(ForcedDowngrade(name=name, held=comes, other=other, installed=other == now))
    return tuple(found)


def explain_pin_objection(found: Sequence[ForcedDowngrade], impossible: str, requirement: str) -> str:
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


def make_refusal(spoken: str, found: Sequence[ForcedDowngrade], prefix: PurePath) -> RefusedError:
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


def _is_older(one: str, other: str) -> bool:
    try:
        return parse_version_number(one) < parse_version_number(other)
    except ValueError:
        return False


def wants_pip_pin(facts: Facts, request: Request) -> bool:
    """Whether a setup leaves a pin for pip: where it is wished, and where there is one that has to go along."""
    return facts.environment.kind is EnvironmentKind.VENV and (request.pin or find_pip_pin(facts) is not None)


def find_pip_pin(facts: Facts) -> PinState | None:
    """The pin for pip that is there."""
    return next((pin for pin in facts.pins if pin.kind == PinKind.PIP), None)


_STAGED = "fastinstall-pin"
_REST = "pip.conf"


@immutable
class PipPin:
    """A pin that is to be.

    Attributes:
        prefix: of the environment.
        requirement: what it holds to.
        wheel: of our cache, of that very build; it is copied.
        links: further places of wheels, as of `rules.pip_pins.settings`.
    """

    prefix: Path
    requirement: str
    wheel: Path
    links: tuple[str, ...] = ()


def refuse_unwritable(prefix: Path) -> None:
    """Raise if pip's configuration of an environment is not a file of its own.

    Raises:
        RefusedError: it is a link: what is written there would be written elsewhere.
    """
    file = prefix / CONFIGURATION
    if file.is_symlink() or (file.exists() and not file.is_file()):
        where = f"a link to {file.readlink()}" if file.is_symlink() else "no file"
        word = quote(file)
        raise RefusedError(
            f"{file} is {where}, and a pin needs lines there",
            hint=f"make it a file of the environment's own: cp --remove-destination $(realpath {word}) {word}",
        )


def write_pip_pin(pin: PipPin, transaction: Transaction) -> None:
    """Put wheel, constraint and exports into the environment, then the lines into pip's configuration.

    Args:
        pin: what it is.
        transaction: whose undo takes out the lines alone, and nothing that others write beside them.

    Raises:
        RefusedError: pip cannot read its configuration, or the lines would change it.
        OSError: as the kernel says; the caller undoes.
    """
    staged = transaction.stage / _STAGED
    wheel = staged / WHEELS.removeprefix(f"{DIRECTORY}/") / pin.wheel.name
    wheel.parent.mkdir(parents=True)
    files.copy(pin.wheel, wheel)
    wheel.chmod(0o644)
    constraints = constraints_text(pin.requirement, pin.wheel.name)
    for path, text in ((CONSTRAINTS, constraints), (ENVIRONMENT, environment_text(pin.prefix, pin.links))):
        files.write_text(staged / path.removeprefix(f"{DIRECTORY}/"), text)
    kind = MoveKind.EXCHANGE if (pin.prefix / DIRECTORY).exists() else MoveKind.IN
    transaction.perform((Move(kind=kind, live=DIRECTORY, kept=f"stage/{_STAGED}"),))
    content = read_configuration(pin.prefix)
    if read_pinned_settings(content) == settings(pin.prefix, pin.links):
        return
    rest = remove_pin_block(content)
    made = insertion(rest, pin.prefix, pin.links)
    if rest == content:
        transaction.add(CONFIGURATION, made.text, place=made.place)
        return
    renewed = rest[: made.place] + made.text.encode() + rest[made.place :]
    transaction.perform((_make_exchange(pin.prefix, transaction.stage, renewed),))


def list_pip_pin_removal_moves(store: JournalStore, stage: Path) -> Sequence[Move]:
    """List the moves that remove the pin, its lines first. Yields nothing if there is no pin.

    Args:
        store: of the environment.
        stage: of the transaction; what is left of pip's configuration is put there.
    """
    content = read_configuration(store.prefix)
    left = remove_pin_block(content)
    moves = []
    if left != content:
        out = Move(kind=MoveKind.OUT, live=CONFIGURATION, kept=f"aside/{_REST}")
        moves.append(out if not left else _make_exchange(store.prefix, stage, left))
    if (store.prefix / DIRECTORY).exists():
        moves.append(Move(kind=MoveKind.OUT, live=DIRECTORY, kept=f"aside/{_STAGED}"))
    return moves


def read_configuration(prefix: Path) -> bytes:
    """Read an environment's pip configuration, or return "" if it has none."""
    return foreign.bytes_if_there(prefix / CONFIGURATION) or b""


def _make_exchange(prefix: Path, stage: Path, content: bytes) -> Move:
    mode = (prefix / CONFIGURATION).stat().st_mode & 0o7777
    files.write_bytes(stage / _REST, content, mode=mode)
    return Move(kind=MoveKind.EXCHANGE, live=CONFIGURATION, kept=f"stage/{_REST}")


@immutable
class TrialTools:
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


def refuse_trap(pin: PipPin, facts: Facts, means: TrialTools) -> None:
    """Raise if pip, held by a pin, would go back on what requires Pillow; nothing is changed.

    Args:
        pin: that is to be.
        facts: of the environment.
        means: of the trial.

    Raises:
        RefusedError: names what would go back, with both versions; where a pin is there already it is a warning.
    """
    names = tuple(sorted({dependant.name for dependant in facts.stack.dependants}))
    if not names:
        return
    with files.temporary_directory("pin", within=means.space) as space:
        file, none = space / "constraints.txt", space / "none.txt"
        file.write_text(constraints_text(pin.requirement, pin.wheel.name), encoding="utf-8")
        none.touch()
        free = PipConditions(constraints=location(none), links=pin.links)
        held = PipConditions(constraints=location(file), links=(*pin.links, location(pin.wheel.parent)))
        trial = _Trial(pin=pin, facts=facts, means=means, free=free, held=held)
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
    means: TrialTools
    free: PipConditions
    held: PipConditions

    def ask(self, conditions: PipConditions, *words: str) -> PipForecast:
        return forecast_pip_install(self.facts.interpreter, words, conditions, self.means.variables)


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
    found = find_forced_downgrades(trial.facts.distributions, free.installs, held.installs, names)
    _raise_objection(trial, held.impossible, found if not held.impossible else ())
    return ""


def _try_with_the_wheel(trial: _Trial) -> None:
    """Whether pip finds what the pin asks for, beside no index."""
    name = trial.pin.requirement.partition("==")[0]
    try:
        found = trial.ask(trial.held, "--no-index", "--no-deps", "--force-reinstall", name)
    except UndeterminedError:
        return  # a pip of before dry runs; it was told above that nothing could be tried
    _raise_objection(trial, found.impossible)


def _raise_objection(trial: _Trial, impossible: str, found: tuple[ForcedDowngrade, ...] = ()) -> None:
    """Refuse, or warn where it was pinned before: then the harm is not of this run's making, and a repair goes on."""
    spoken = explain_pin_objection(found, impossible, trial.pin.requirement)
    if spoken and find_pip_pin(trial.facts) is None:
        raise make_refusal(spoken, found, trial.pin.prefix)
    if spoken:
        trial.means.emit(Noted(message=f"{spoken}; it was pinned before, and stays so", warning=True))
