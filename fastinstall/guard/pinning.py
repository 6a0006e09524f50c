"""Pin an environment in a transaction, and remove the pin: a line for conda, or settings in pip's configuration.

If Pillow is pinned, resolvers silently choose older versions of packages that require another Pillow. Measured on
2026-11-21: with a constraint but without a wheel that meets the constraint, pip downgraded imageio to 2.0.0. So before
the pin is written, pip is asked what it would install with the pin and without it.

Pins of projects, which users apply themselves, are in `pins.pin_project`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from fastinstall.core import files, foreign, temporary_directories
from fastinstall.core.errors import RefusedError, UndeterminedError
from fastinstall.core.events import Emit, Noted, Started
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import parse_version_number
from fastinstall.index.pip import forecast_pip_install
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda_packages import is_our_package
from fastinstall.model.dependants import PINS, pin_line
from fastinstall.model.facts import Distribution, EnvironmentKind, Facts
from fastinstall.model.guards import PinKind, PinState, Project
from fastinstall.model.history import Move, MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import Request
from fastinstall.observe import pip_pins
from fastinstall.observe.environments import is_made_by_uv
from fastinstall.observe.installed_pins import NAME, PIN, add_pin_line, pin_in, remove_pin_line
from fastinstall.observe.pip_settings import find_hiding_settings, links_beside, observe_pip_settings
from fastinstall.observe.session import Session
from fastinstall.pins.recognition import project_of, read_project_pin
from fastinstall.wheelbuild.wheel_cache import find_installed_wheel

_STAGED_LINE = "pinned"
_STAGED = "fastinstall-pin"
_REST = "pip.conf"


def prepare_pin(
    session: Session, facts: Facts, receipt: Receipt, project: Project | None
) -> Callable[[Transaction], None] | None:
    """Check that an environment can be pinned, and return the function that writes the pin; change nothing.

    Args:
        session: variables, directories, clock and event listener of this run.
        facts: facts of the environment, checked by `refuse_unpinnable`.
        receipt: receipt of the setup whose stack is pinned.
        project: the project that the environment belongs to, or None.

    Returns:
        The function, or None if the environment is already pinned. In a conda environment, any pin counts; elsewhere,
        only a pin for pip that has no problems.

    Raises:
        RefusedError: a setting of the user conflicts with the pin, the wheel is missing, or pip would downgrade
            packages that require Pillow.
    """
    prefix = facts.environment.prefix
    if facts.environment.kind is EnvironmentKind.CONDA:
        stack = facts.conda.named(NAME) if facts.conda is not None else None
        line = pin_line(stack) if stack is not None and is_our_package(stack) else PIN
        return None if read_pin(prefix) else partial(add_conda_pin, prefix, line)
    if any(pin.kind == PinKind.PIP and not pin.problems for pin in facts.pins):
        return None
    pin = PipPin(
        prefix=prefix,
        requirement=pip_pins.requirement_of(receipt.distribution, receipt.version),
        wheel=find_installed_wheel_of(session, prefix, receipt, rebuilt_by="--pin"),
        links=list_links_beside_pin(session, prefix, project),
    )
    offline, cache = receipt.request.offline, session.own_cache()
    refuse_harmful_pin(pin, facts, variables=session.variables, cache=cache, emit=session.emit, offline=offline)
    return partial(write_pip_pin, pin)


def list_links_beside_pin(session: Session, prefix: Path, project: Project | None) -> tuple[str, ...]:
    """Return the `find-links` values in the user's pip configuration, which the pin must repeat because it hides them.

    If uv or a project's tool installs into this environment instead of pip, fewer settings conflict with the pin.

    Raises:
        RefusedError: a setting of the user conflicts with the pin, or pip cannot read one of its configuration files.
    """
    found = observe_pip_settings(prefix, session.variables)
    return links_beside(prefix, found, used_by_pip=project is None and not is_made_by_uv(prefix))


def find_pin_hidden_by_shell(session: Session, prefix: Path) -> tuple[str, ...]:
    """Return settings in this shell that hide the pin from pip; empty if pip is not used in this environment."""
    if is_made_by_uv(prefix) or project_of(prefix, None) is not None:
        return ()
    try:
        return find_hiding_settings(prefix, observe_pip_settings(prefix, session.variables))
    except RefusedError as error:
        return (error.message,)


def read_pin(prefix: Path) -> str:
    """Return the text or file name that shows that an environment is pinned; empty if it is not.

    The result is the first of these that exists: 1. our line in conda's pins; 2. the first line of our block in pip's
    configuration; 3. the name of the pin's directory.
    """
    told = pin_in(foreign.text_if_there(prefix / PINS)) or "".join(pip_pins.block_in(_read_configuration(prefix))[:1])
    return told or (pip_pins.DIRECTORY if (prefix / pip_pins.DIRECTORY).is_dir() else "")


def add_conda_pin(prefix: Path, line: str, transaction: Transaction) -> None:
    """Add our line to conda's pins; undoing the transaction removes only this line."""
    existing = foreign.text_if_there(prefix / PINS)
    transaction.add(PINS, add_pin_line(existing, line).removeprefix(existing))


def list_pin_removal_moves(store: JournalStore, stage: Path) -> Sequence[Move]:
    """Return the moves that remove our pins for conda and pip.

    Our lines in pip's configuration are removed before the directory of the wheel, because they refer to it.

    Args:
        store: the environment's journal store.
        stage: the transaction's `stage`, which receives the files without our lines.
    """
    moves = []
    existing = foreign.text_if_there(store.prefix / PINS)
    if pin_in(existing):
        rest = remove_pin_line(existing).encode("utf-8", "surrogateescape")
        moves.append(_make_replacement(store.prefix, stage, PINS, _STAGED_LINE, rest))
    content = _read_configuration(store.prefix)
    left = pip_pins.remove_pin_block(content)
    if left != content:
        moves.append(_make_replacement(store.prefix, stage, pip_pins.CONFIGURATION, _REST, left))
    if (store.prefix / pip_pins.DIRECTORY).exists():
        moves.append(Move(kind=MoveKind.OUT, live=pip_pins.DIRECTORY, kept=f"aside/{_STAGED}"))
    return moves


def _make_replacement(prefix: Path, stage: Path, live: str, name: str, content: bytes) -> Move:
    """Return the move that gives a file other content, or that removes the file if the content is empty."""
    if not content:
        return Move(kind=MoveKind.OUT, live=live, kept=f"aside/{name}")
    files.write_bytes(stage / name, content, mode=(prefix / live).stat().st_mode & 0o7777)
    return Move(kind=MoveKind.EXCHANGE, live=live, kept=f"stage/{name}")


def find_installed_wheel_of(session: Session, prefix: Path, receipt: Receipt, *, rebuilt_by: str) -> Path:
    """Return the path of the wheel that was installed, identified by SHA-256, in the cache or the setup's wheelhouse.

    Args:
        session: variables, directories, clock and event listener of this run.
        prefix: root of the environment.
        receipt: receipt of the environment's setup.
        rebuilt_by: the option of `setup` that builds the wheel again, for the hint.

    Raises:
        RefusedError: neither the cache nor the wheelhouse has the wheel.
    """
    cached = find_installed_wheel(session.own_cache(), prefix, receipt.wheel_sha256)
    if cached is not None:
        return cached
    house = Path(receipt.request.wheelhouse) / receipt.wheel if receipt.request.wheelhouse is not None else None
    if house is not None and house.is_file() and files.sha256(house) == receipt.wheel_sha256:
        return house
    raise RefusedError(
        f"{receipt.wheel} is no longer in the cache, and a pin needs it: "
        "a constraint that finds none has pip go back on whatever requires Pillow",
        hint=f"rebuild it: fastinstall setup {rebuilt_by} --prefix {quote(prefix)}",
    )


def find_named_project_pins(prefix: Path, named: Path | None, known: Sequence[PinState]) -> tuple[PinState, ...]:
    """Return the pin of the project in directory `named`.

    The result is empty if `named` is None, if the project has no pin, or if `known` already has that pin.
    """
    if named is None:
        return ()
    project_of(prefix, named)  # raises if the directory is not a project
    pin = read_project_pin(prefix, named)
    return (pin,) if pin is not None and pin.file not in [each.file for each in known] else ()


def wants_pip_pin(facts: Facts, request: Request) -> bool:
    """Return whether a setup writes a pin for pip: one is requested, or an existing pin must name the new build.

    Always False outside virtual environments.
    """
    return facts.environment.kind is EnvironmentKind.VENV and (request.pin or find_pip_pin(facts) is not None)


def find_pip_pin(facts: Facts) -> PinState | None:
    """Return the environment's pin for pip, or None if it has none."""
    return next((pin for pin in facts.pins if pin.kind == PinKind.PIP), None)


@immutable
class PipPin:
    """A pin for pip that is about to be written.

    Attributes:
        prefix: root of the environment that is pinned.
        requirement: the requirement that pip has to meet.
        wheel: the pinned wheel in the cache; it is copied.
        links: other `find-links` locations to include, in the notation of `observe.pip_pins`.
    """

    prefix: Path
    requirement: str
    wheel: Path
    links: tuple[str, ...] = ()


def write_pip_pin(pin: PipPin, transaction: Transaction) -> None:
    """Put the pinned wheel, constraint and exports into the environment, then our lines into pip's configuration.

    Args:
        pin: the pin to write.
        transaction: the transaction that makes the changes; its undo removes only our lines from the configuration.

    Raises:
        RefusedError: pip cannot read its configuration, or our lines would change the meaning of other lines.
        OSError: a file could not be written, and the caller must undo.
    """
    staged = transaction.stage / _STAGED
    wheel = staged / pip_pins.WHEELS.removeprefix(f"{pip_pins.DIRECTORY}/") / pin.wheel.name
    wheel.parent.mkdir(parents=True)
    files.copy_file(pin.wheel, wheel)
    wheel.chmod(0o644)
    constraints = pip_pins.constraints_text(pin.requirement, pin.wheel.name)
    exports = pip_pins.environment_text(pin.prefix, pin.links)
    for path, text in ((pip_pins.CONSTRAINTS, constraints), (pip_pins.ENVIRONMENT, exports)):
        files.write_text(staged / path.removeprefix(f"{pip_pins.DIRECTORY}/"), text)
    kind = MoveKind.EXCHANGE if (pin.prefix / pip_pins.DIRECTORY).exists() else MoveKind.IN
    transaction.perform((Move(kind=kind, live=pip_pins.DIRECTORY, kept=f"stage/{_STAGED}"),))
    content = _read_configuration(pin.prefix)
    rest = pip_pins.remove_pin_block(content)
    is_there = rest != content
    wanted = pip_pins.settings(pin.prefix, pin.links)
    if is_there and pip_pins.is_heeded(content, wanted, pin.prefix / pip_pins.CONFIGURATION):
        return
    text, place = pip_pins.insertion(rest, pin.prefix, pin.links)
    if not is_there:
        transaction.add(pip_pins.CONFIGURATION, text, place=place)
        return
    renewed = rest[:place] + text.encode() + rest[place:]
    transaction.perform((_make_replacement(pin.prefix, transaction.stage, pip_pins.CONFIGURATION, _REST, renewed),))


def _read_configuration(prefix: Path) -> bytes:
    """Return the content of an environment's pip configuration; empty if it has none."""
    return foreign.bytes_if_there(prefix / pip_pins.CONFIGURATION) or b""


def refuse_harmful_pin(
    pin: PipPin, facts: Facts, *, variables: Mapping[str, str], cache: Path, emit: Emit, offline: bool
) -> None:
    """Raise if a pin would write through a link, or would make pip downgrade a package that requires Pillow.

    Nothing is changed. If the environment already has a pin for pip, a downgrade only causes a warning. If the pin
    cannot be tried, that causes a warning too.

    Args:
        pin: the pin to try.
        facts: facts of the environment.
        variables: the environment variables that pip is run with.
        cache: root of fastinstall's cache.
        emit: receives events, with a warning if the trial was not possible.
        offline: whether indexes must not be accessed; if True, the pin is not tried.

    Raises:
        RefusedError: pip's configuration is a link or special file; or pip would downgrade packages (the message has
            their names and both versions); or pip could install nothing (the message has pip's reason).
    """
    file = pin.prefix / pip_pins.CONFIGURATION
    if file.is_symlink() or (file.exists() and not file.is_file()):
        where = f"a link to {file.readlink()}" if file.is_symlink() else "no file"
        word = quote(file)
        raise RefusedError(
            f"{file} is {where}, and a pin has to write to it",
            hint=f"replace it with a regular file: cp --remove-destination $(realpath {word}) {word}",
        )
    names = tuple(sorted({dependant.name for dependant in facts.stack.dependants}))
    if not names:
        return
    try:
        if not offline:
            emit(Started(stage="pin", message=f"testing the pin: what would pip do with {listing(names)}?"))
        harm, details = _try_pin(pin, facts, names, variables, cache, offline=offline)
    except UndeterminedError as error:
        unknown = f"whether pip would downgrade {listing(names)} is unknown"
        emit(Noted(message=f"could not test the pin against the index ({error.message}): {unknown}", warning=True))
        return
    if not harm:
        return
    spoken = f"held to {pin.requirement}, pip {harm}"
    if find_pip_pin(facts) is None:
        raise RefusedError(
            f"{pin.prefix}: not pinned, and nothing was changed: {spoken}",
            hint=f"leave out --pin, or try a later Pillow: fastinstall setup --upgrade --prefix {quote(pin.prefix)}",
            details=details,
        )
    emit(Noted(message=f"{spoken}; the existing pin stays", warning=True))  # not an error, so that a repair goes on


def _try_pin(
    pin: PipPin, facts: Facts, names: tuple[str, ...], variables: Mapping[str, str], cache: Path, *, offline: bool
) -> tuple[str, tuple[str, ...]]:
    """Ask pip what it would install for the named distributions, with the pin and without it.

    Returns:
        The harm that pip would do because of the pin, and its details; both empty if there is none.

    Raises:
        UndeterminedError: what pip would install cannot be found out.
    """
    if offline:
        raise UndeterminedError("offline")
    with temporary_directories.temporary_directory("pin", within=cache / "tmp") as space:
        file, none = space / "constraints.txt", space / "none.txt"
        file.write_text(pip_pins.constraints_text(pin.requirement, pin.wheel.name), encoding="utf-8")
        none.touch()
        wheels = (*pin.links, pip_pins.location(pin.wheel.parent))
        free = {"PIP_CONSTRAINT": pip_pins.location(none), "PIP_FIND_LINKS": " ".join(pin.links)}
        held = {"PIP_CONSTRAINT": pip_pins.location(file), "PIP_FIND_LINKS": " ".join(wheels)}
        without, with_pin = (
            forecast_pip_install(facts.interpreter, ("--upgrade", *names), settings, variables)
            for settings in (free, held)
        )
    if without.impossible:
        raise UndeterminedError(without.impossible)
    if with_pin.impossible:
        return f"can install nothing: {with_pin.impossible}", ()
    downgrades = find_forced_downgrades(facts.distributions, without.installs, with_pin.installs, names)
    return f"takes {listing(downgrades)}" if downgrades else "", tuple(downgrades.values())


def find_forced_downgrades(
    there: Sequence[Distribution], free: Mapping[str, str], held: Mapping[str, str], names: Sequence[str]
) -> dict[str, str]:
    """Return the distributions that would be older with the pin than they are now, or than without the pin.

    Args:
        there: the installed distributions.
        free: versions that pip would install without the pin, by normalised name.
        held: versions that pip would install with the pin, by normalised name.
        names: names of the distributions to compare.

    Returns:
        Each downgrade in words, mapped to the reason why it is a downgrade: "imageio 2.0.0 instead of 2.37.0" is mapped
        to "imageio: 2.37.0 is installed".
    """
    installed = {each.name: each.version for each in there}
    found = {}
    for name in names:
        now = installed.get(name, "")
        comes, could = held.get(name, now), free.get(name, now)
        for other, where in ((now, "is installed"), (could, "is what comes without the pin")):
            if _is_older(comes, other):
                found[f"{name} {comes} instead of {other}"] = f"{name}: {other} {where}"
                break
    return found


def _is_older(one: str, other: str) -> bool:
    try:
        return parse_version_number(one) < parse_version_number(other)
    except ValueError:
        return False
