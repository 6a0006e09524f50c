"""Pin an environment by a transaction, and take the pin back: by a line for conda, or by pip's configuration.

Resolvers have a trap: held to one Pillow, they silently take older versions of whatever requires another. Measured on
2026-11-21: with a constraint, and without the wheel that meets it, imageio went back to 2.0.0. So pip is asked for its
plan with and without the pin before a pin for it is written.

Not the pins of projects, which are changes that others apply: see `pins.pin_project`.
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
from fastinstall.model.facts import Distribution, EnvironmentKind, Facts, PinKind, PinState, Project
from fastinstall.model.move import Move, MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import Request
from fastinstall.observe import pip_pins
from fastinstall.observe.environments import is_made_by_uv
from fastinstall.observe.installed_pins import NAME, PIN, add_pin_line, pin_in, remove_pin_line
from fastinstall.observe.pip_settings import find_hiding_settings, links_beside, observe_pip_settings
from fastinstall.observe.session import Session
from fastinstall.pins.recognition import project_of, read_project_pin
from fastinstall.wheelbuild.installed_wheels import find_installed_wheel

_STAGED_LINE = "pinned"
_STAGED = "fastinstall-pin"
_REST = "pip.conf"

AddPin = Callable[[Transaction], None]
"""Puts a pin there."""


def prepare_pin(session: Session, facts: Facts, receipt: Receipt, project: Project | None = None) -> AddPin | None:
    """Return what puts the pin in place, once all that could forbid it was looked at; nothing is changed.

    Args:
        session: variables, directories, clock and event listener of this run.
        facts: of the environment; `refuse_unpinnable` has let them pass.
        receipt: of the setup whose stack is pinned.
        project: that the environment belongs to, if there is one.

    Returns:
        None if the pin is there, for this very build and whole.

    Raises:
        RefusedError: a foreign setting is in the way, the wheel is not at hand, or pip would go back on what
            requires Pillow.
    """
    prefix = facts.environment.prefix
    if facts.environment.kind is EnvironmentKind.CONDA:
        return None if read_pin(prefix) else partial(add_pin, prefix, facts)
    if any(pin.kind == PinKind.PIP and not pin.problems for pin in facts.pins):
        return None
    refuse_unwritable(prefix)
    pin = PipPin(
        prefix=prefix,
        requirement=pip_pins.requirement_of(receipt.distribution, receipt.version),
        wheel=find_installed_wheel_of(session, prefix, receipt, rebuilt_by="--pin"),
        links=list_links_beside_pin(session, prefix, project),
    )
    PinTrial(
        pin=pin,
        facts=facts,
        variables=session.variables,
        space=session.own_cache() / "tmp",
        emit=session.emit,
        offline=receipt.request.offline,
    ).refuse_trap()
    return partial(write_pip_pin, pin)


def list_links_beside_pin(session: Session, prefix: Path, project: Project | None) -> tuple[str, ...]:
    """List places of wheels for a pin to repeat; if pip installs nothing here, its settings are passed over.

    Raises:
        RefusedError: a foreign setting is in the way, or pip cannot read one of its files.
    """
    found = observe_pip_settings(prefix, session.variables)
    return links_beside(prefix, found, used_by_pip=project is None and not is_made_by_uv(prefix))


def find_pin_hidden_by_shell(session: Session, prefix: Path) -> tuple[str, ...]:
    """Return what pip uses in this shell instead of the pin; nothing where pip does not install."""
    if is_made_by_uv(prefix) or project_of(prefix, None) is not None:
        return ()
    try:
        return find_hiding_settings(prefix, observe_pip_settings(prefix, session.variables))
    except RefusedError as error:
        return (error.message,)


def read_pin(prefix: Path) -> str:
    """Return our line in conda's pins, or what there is of ours for pip; empty if there is neither."""
    told = pin_in(_read_conda_pins(prefix)) or "".join(pip_pins.block_in(read_configuration(prefix))[:1])
    return told or (pip_pins.DIRECTORY if (prefix / pip_pins.DIRECTORY).is_dir() else "")


def add_pin(prefix: Path, facts: Facts, transaction: Transaction) -> None:
    """Add our pin to conda's, unless it is there.

    Args:
        prefix: root of the environment that is pinned.
        facts: of it; `refuse_unpinnable` has let them pass.
        transaction: whose undo takes the line out again, and nothing that others add later.
    """
    packages = facts.conda.packages if facts.conda is not None else ()
    stack = next((package for package in packages if is_our_package(package) and package.name == NAME), None)
    existing = _read_conda_pins(prefix)
    added = add_pin_line(existing, pin_line(stack) if stack is not None else PIN).removeprefix(existing)
    if added:
        transaction.add(PINS, added)


def list_pin_removal_moves(store: JournalStore, stage: Path) -> Sequence[Move]:
    """List the moves that remove our pins, if any.

    Args:
        store: the journal of the environment, which names it.
        stage: of the transaction; what is left of files of others is put there.
    """
    of_pip = list_pip_pin_removal_moves(store, stage)
    existing = _read_conda_pins(store.prefix)
    if not pin_in(existing):
        return of_pip
    left = remove_pin_line(existing)
    if not left:
        return (Move(kind=MoveKind.OUT, live=PINS, kept=f"aside/{_STAGED_LINE}"), *of_pip)
    files.write_text(stage / _STAGED_LINE, left, mode=(store.prefix / PINS).stat().st_mode & 0o7777)
    return (Move(kind=MoveKind.EXCHANGE, live=PINS, kept=f"stage/{_STAGED_LINE}"), *of_pip)


def _read_conda_pins(prefix: Path) -> str:
    return foreign.text_if_there(prefix / PINS)


def find_installed_wheel_of(session: Session, prefix: Path, receipt: Receipt, *, rebuilt_by: str) -> Path:
    """Return the very wheel that was installed: of the cache, or of the wheelhouse that it came from.

    Args:
        session: variables, directories, clock and event listener of this run.
        prefix: root of the environment that the stack is in.
        receipt: of what is set up in it.
        rebuilt_by: the flag of `setup` that has it build the wheel again, for the hint.

    Raises:
        RefusedError: it is in neither.
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
    """Return the pin of a project that was named, unless it is among those that are known."""
    if named is None:
        return ()
    project_of(prefix, named)  # raises if it is none
    pin = read_project_pin(prefix, named)
    return (pin,) if pin is not None and pin.file not in [each.file for each in known] else ()


def wants_pip_pin(facts: Facts, request: Request) -> bool:
    """Tell whether a setup writes a pin for pip: one was requested, or an existing one must follow the new build."""
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
        links: further places of wheels, as `observe.pip_pins` writes them.
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
    file = prefix / pip_pins.CONFIGURATION
    if file.is_symlink() or (file.exists() and not file.is_file()):
        where = f"a link to {file.readlink()}" if file.is_symlink() else "no file"
        word = quote(file)
        raise RefusedError(
            f"{file} is {where}, and a pin has to write to it",
            hint=f"replace it with a regular file: cp --remove-destination $(realpath {word}) {word}",
        )


def write_pip_pin(pin: PipPin, transaction: Transaction) -> None:
    """Put wheel, constraint and exports into the environment, then the lines into pip's configuration.

    Args:
        pin: the constraint, its wheel and its places.
        transaction: whose undo takes out the lines alone, and nothing that others write beside them.

    Raises:
        RefusedError: pip cannot read its configuration, or the lines would change it.
        OSError: as the kernel says; the caller undoes.
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
    content = read_configuration(pin.prefix)
    rest = pip_pins.remove_pin_block(content)
    is_there = rest != content
    wanted = pip_pins.settings(pin.prefix, pin.links)
    if is_there and pip_pins.is_heeded(content, wanted, pin.prefix / pip_pins.CONFIGURATION):
        return
    made = pip_pins.insertion(rest, pin.prefix, pin.links)
    if not is_there:
        transaction.add(pip_pins.CONFIGURATION, made.text, place=made.place)
        return
    renewed = rest[: made.place] + made.text.encode() + rest[made.place :]
    transaction.perform((_make_exchange(pin.prefix, transaction.stage, renewed),))


def list_pip_pin_removal_moves(store: JournalStore, stage: Path) -> Sequence[Move]:
    """List the moves that remove the pin, its lines first. Yields nothing if there is no pin.

    Args:
        store: the journal of the environment, which names it.
        stage: of the transaction; what is left of pip's configuration is put there.
    """
    content = read_configuration(store.prefix)
    left = pip_pins.remove_pin_block(content)
    moves = []
    if left != content:
        out = Move(kind=MoveKind.OUT, live=pip_pins.CONFIGURATION, kept=f"aside/{_REST}")
        moves.append(out if not left else _make_exchange(store.prefix, stage, left))
    if (store.prefix / pip_pins.DIRECTORY).exists():
        moves.append(Move(kind=MoveKind.OUT, live=pip_pins.DIRECTORY, kept=f"aside/{_STAGED}"))
    return moves


def read_configuration(prefix: Path) -> bytes:
    """Read an environment's pip configuration, or return "" if it has none."""
    return foreign.bytes_if_there(prefix / pip_pins.CONFIGURATION) or b""


def _make_exchange(prefix: Path, stage: Path, content: bytes) -> Move:
    mode = (prefix / pip_pins.CONFIGURATION).stat().st_mode & 0o7777
    files.write_bytes(stage / _REST, content, mode=mode)
    return Move(kind=MoveKind.EXCHANGE, live=pip_pins.CONFIGURATION, kept=f"stage/{_REST}")


@immutable
class PinTrial:
    """A pin, and where it is tried.

    Attributes:
        pin: that is to be.
        facts: what was observed of the environment.
        variables: the environment variables that pip is run with.
        space: a directory for temporary files.
        emit: gets what could not be tried.
        offline: no index may be asked.
    """

    pin: PipPin
    facts: Facts
    variables: Mapping[str, str]
    space: Path
    emit: Emit
    offline: bool = False

    def refuse_trap(self) -> None:
        """Raise if pip, held by the pin, would go back on what requires Pillow; nothing is changed.

        Raises:
            RefusedError: names what would go back, with both versions; where a pin is there already it is a warning.
        """
        names = tuple(sorted({dependant.name for dependant in self.facts.stack.dependants}))
        if not names:
            return
        why = "offline" if self.offline else self._try_with_the_index(names)
        if why:
            unknown = f"whether pip would downgrade {listing(names)} is unknown"
            message = f"could not test the pin against the index ({why}): {unknown}"
            self.emit(Noted(message=message, warning=True))

    def _try_with_the_index(self, names: tuple[str, ...]) -> str:
        """Return why it could not be tried, or "" if it was tried and passed."""
        self.emit(Started(stage="pin", message=f"testing the pin: what would pip do with {listing(names)}?"))
        with temporary_directories.temporary_directory("pin", within=self.space) as space:
            file, none = space / "constraints.txt", space / "none.txt"
            file.write_text(pip_pins.constraints_text(self.pin.requirement, self.pin.wheel.name), encoding="utf-8")
            none.touch()
            wheels = (*self.pin.links, pip_pins.location(self.pin.wheel.parent))
            free = {"PIP_CONSTRAINT": pip_pins.location(none), "PIP_FIND_LINKS": " ".join(self.pin.links)}
            held = {"PIP_CONSTRAINT": pip_pins.location(file), "PIP_FIND_LINKS": " ".join(wheels)}
            words = ("--upgrade", *names)
            try:
                without, with_pin = (
                    forecast_pip_install(self.facts.interpreter, words, settings, self.variables)
                    for settings in (free, held)
                )
            except UndeterminedError as error:
                return error.message
        if not without.impossible:
            downgrades = find_forced_downgrades(self.facts.distributions, without.installs, with_pin.installs, names)
            self._object(with_pin.impossible, downgrades)
        return without.impossible

    def _object(self, impossible: str, downgrades: Mapping[str, str]) -> None:
        """Refuse, or warn where it was pinned before: then the harm is not of this run's making, and a repair goes on.

        Args:
            impossible: pip's words, where it finds nothing at all with the pin.
            downgrades: what `find_forced_downgrades` has found.
        """
        if not impossible and not downgrades:
            return
        what = f"can install nothing: {impossible}" if impossible else f"takes {listing(downgrades)}"
        spoken = f"held to {self.pin.requirement}, pip {what}"
        if find_pip_pin(self.facts) is not None:
            self.emit(Noted(message=f"{spoken}; the existing pin stays", warning=True))
            return
        prefix = self.pin.prefix
        raise RefusedError(
            f"{prefix}: not pinned, and nothing was changed: {spoken}",
            hint=f"leave out --pin, or try a later Pillow: fastinstall setup --upgrade --prefix {quote(prefix)}",
            details=() if impossible else tuple(downgrades.values()),
        )


def find_forced_downgrades(
    there: Sequence[Distribution], free: Mapping[str, str], held: Mapping[str, str], names: Sequence[str]
) -> dict[str, str]:
    """Find what would be older with the pin than it is, or than it could be.

    Args:
        there: the distributions that are installed.
        free: what pip would install without the pin, normalised name to version.
        held: the same with it.
        names: of the distributions that matter.

    Returns:
        For people: "imageio 2.0.0 instead of 2.37.0", and "imageio: 2.37.0 is installed".
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
