"""The pins of an environment: conda's line, or a virtual environment's files, put in and taken out by a transaction."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from fastinstall.actions.pip_pin import PipPin, configuration, pip_pin_removal, put_pip_pin, refuse_unwritable
from fastinstall.actions.pip_trap import Means, refuse_trap
from fastinstall.api.session import Session
from fastinstall.build.cache import find_wheel
from fastinstall.errors import RefusedError
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.event import Noted
from fastinstall.model.facts import Facts
from fastinstall.model.pins import PinKind, Project
from fastinstall.model.receipt import Move, MoveKind, Receipt
from fastinstall.probes.environment import is_made_by_uv
from fastinstall.probes.pip_settings import links_of, observe_pip_settings
from fastinstall.rules.conda_pins import pin_line
from fastinstall.rules.conda_stack import is_ours
from fastinstall.rules.messages import quote
from fastinstall.rules.pins import NAME, PIN, PINNED, pin_in, pinned_text, unpinned_text
from fastinstall.rules.pip_foreign import unheeded
from fastinstall.rules.pip_pins import DIRECTORY, block_in, requirement_of
from fastinstall.system import files, foreign

_STAGED = "pinned"

AddPin = Callable[[Transaction], None]
"""Puts a pin there."""


def pin_to_add(session: Session, facts: Facts, receipt: Receipt, project: Project | None = None) -> AddPin | None:
    """What puts the pin of an environment there, once all that could forbid it was looked at; nothing is changed.

    Args:
        session: the outside world.
        facts: of the environment; `refuse_unpinnable` has let them pass.
        receipt: of its stack.
        project: that the environment belongs to, if there is one.

    Returns:
        None where the pin is there, for this very build and whole.

    Raises:
        RefusedError: a foreign setting is in the way, the wheel is not at hand, or pip would go back on what
            requires Pillow.
    """
    prefix = Path(facts.environment.prefix)
    if facts.environment.kind is EnvironmentKind.CONDA:
        return None if pin_of(prefix) else partial(add_pin, prefix, facts)
    if any(pin.kind == PinKind.PIP and not pin.problems for pin in facts.pins):
        return None
    refuse_unwritable(prefix)
    pin = PipPin(
        prefix=prefix,
        requirement=requirement_of(receipt.distribution, receipt.version),
        wheel=_wheel(session, prefix, receipt),
        links=links_beside_pin(session, prefix, project),
    )
    space, offline = session.own_cache() / "tmp", receipt.wish.offline
    refuse_trap(pin, facts, Means(variables=session.variables, space=space, emit=session.emit, offline=offline))
    return partial(put_pip_pin, pin)


def links_beside_pin(session: Session, prefix: Path, project: Project | None) -> tuple[str, ...]:
    """Places of wheels that a pin repeats; where pip installs nothing, its settings are passed over, and that is said.

    Raises:
        RefusedError: a foreign setting is in the way.
    """
    if project is None and not is_made_by_uv(prefix):
        return links_of(prefix, session.variables)
    links = links_of(prefix, session.variables, used_by_pip=False)
    for sentence in unheeded(prefix, observe_pip_settings(prefix, session.variables)):
        session.emit(Noted(message=sentence))
    return links


def pin_of(prefix: Path) -> str:
    """Our line in conda's pins, or what there is of ours for pip; empty where there is neither."""
    lines = block_in(configuration(prefix))
    return pin_in(_text(prefix)) or "".join(lines[:1]) or (DIRECTORY if (prefix / DIRECTORY).is_dir() else "")


def add_pin(prefix: Path, facts: Facts, transaction: Transaction) -> None:
    """Add our pin to conda's, unless it is there.

    Args:
        prefix: the environment.
        facts: of it; `refuse_unpinnable` has let them pass.
        transaction: whose undo takes the line out again, and nothing that others add later.
    """
    packages = facts.conda.packages if facts.conda is not None else ()
    stack = next((package for package in packages if is_ours(package) and package.name == NAME), None)
    existing = _text(prefix)
    added = pinned_text(existing, pin_line(stack) if stack is not None else PIN).removeprefix(existing)
    if added:
        transaction.add(PINNED, added)


def pin_removal(store: Store, stage: Path) -> Sequence[Move]:
    """List the moves that remove our pins, if any.

    Args:
        store: of the environment.
        stage: of the transaction; what is left of files of others is put there.
    """
    return (*_conda_removal(store, stage), *pip_pin_removal(store, stage))


def _conda_removal(store: Store, stage: Path) -> Sequence[Move]:
    existing = _text(store.prefix)
    if not pin_in(existing):
        return ()
    left = unpinned_text(existing)
    if not left:
        return (Move(kind=MoveKind.OUT, live=PINNED, kept=f"aside/{_STAGED}"),)
    files.write_text(stage / _STAGED, left, mode=(store.prefix / PINNED).stat().st_mode & 0o7777)
    return (Move(kind=MoveKind.EXCHANGE, live=PINNED, kept=f"stage/{_STAGED}"),)


def _text(prefix: Path) -> str:
    file = prefix / PINNED
    return foreign.text_if_there(file)


def _wheel(session: Session, prefix: Path, receipt: Receipt) -> Path:
    """The very wheel that was installed: of the cache, or of the wheelhouse that it came from."""
    cached = find_wheel(session.directories.cache, receipt.wheel_sha256)
    house = Path(receipt.wish.wheelhouse) / receipt.wheel if receipt.wish.wheelhouse is not None else None
    if cached is None and house is not None and house.is_file() and files.sha256(house) == receipt.wheel_sha256:
        return house
    if cached is None:
        raise RefusedError(
            f"{receipt.wheel} is not in the cache any more, and a pin needs the wheel: "
            "a constraint that finds none has pip go back on whatever requires Pillow",
            hint=f"build it again, and pin it: fastinstall setup --pin --prefix {quote(prefix)}",
        )
    return cached
