"""Pin an environment by a transaction, and take the pin back: by a line for conda, or by pip's configuration.

Not the pins of projects, which are changes that others apply: see `pins.pin_project`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from fastinstall.core import files, foreign
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.guard.pip_trap import (
    PinTrial,
    PipPin,
    list_pip_pin_removal_moves,
    read_configuration,
    refuse_unwritable,
    write_pip_pin,
)
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda_packages import is_our_package
from fastinstall.model.dependants import pin_line
from fastinstall.model.facts import EnvironmentKind, Facts, PinKind, PinState, Project
from fastinstall.model.move import Move, MoveKind
from fastinstall.model.receipt import Receipt
from fastinstall.observe.active_environment import is_made_by_uv
from fastinstall.observe.installed_pins import NAME, PIN, PINNED, add_pin_line, pin_in, remove_pin_line
from fastinstall.observe.pip_pin_conflicts import find_hiding_settings, links_of
from fastinstall.observe.pip_pins import DIRECTORY, block_in, requirement_of
from fastinstall.observe.pip_settings import observe_pip_settings
from fastinstall.observe.session import Session
from fastinstall.pins.recognition import project_of, read_project_pin
from fastinstall.wheelbuild.installed_wheels import find_installed_wheel

_STAGED = "pinned"

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
    prefix = Path(facts.environment.prefix)
    if facts.environment.kind is EnvironmentKind.CONDA:
        return None if read_pin(prefix) else partial(add_pin, prefix, facts)
    if any(pin.kind == PinKind.PIP and not pin.problems for pin in facts.pins):
        return None
    refuse_unwritable(prefix)
    pin = PipPin(
        prefix=prefix,
        requirement=requirement_of(receipt.distribution, receipt.version),
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
        RefusedError: a foreign setting is in the way.
    """
    return links_of(prefix, session.variables, used_by_pip=project is None and not is_made_by_uv(prefix))


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
    told = pin_in(_read_conda_pins(prefix)) or "".join(block_in(read_configuration(prefix))[:1])
    return told or (DIRECTORY if (prefix / DIRECTORY).is_dir() else "")


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
        transaction.add(PINNED, added)


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
        return (Move(kind=MoveKind.OUT, live=PINNED, kept=f"aside/{_STAGED}"), *of_pip)
    files.write_text(stage / _STAGED, left, mode=(store.prefix / PINNED).stat().st_mode & 0o7777)
    return (Move(kind=MoveKind.EXCHANGE, live=PINNED, kept=f"stage/{_STAGED}"), *of_pip)


def _read_conda_pins(prefix: Path) -> str:
    return foreign.text_if_there(prefix / PINNED)


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
