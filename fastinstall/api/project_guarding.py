"""The pin of the project that an environment belongs to: found, made, told, and taken back.

The environment notes which project that is, in a file that goes with the transaction: where that is undone, the
project's pin is taken back too.
"""

from collections.abc import Sequence
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.build.cache import find_wheel
from fastinstall.errors import RefusedError
from fastinstall.journal.layout import PROJECT
from fastinstall.journal.store import Store
from fastinstall.journal.transaction import Transaction
from fastinstall.model.environment import Environment
from fastinstall.model.event import Noted
from fastinstall.model.history import Cut
from fastinstall.model.pins import PinState, Project
from fastinstall.model.receipt import Move, MoveKind, Receipt
from fastinstall.pins.recognition import noted_project, project_of
from fastinstall.pins.state import pin_state
from fastinstall.rules.interruptions import unpinning_command
from fastinstall.rules.messages import fix_command


def unpinned_project(
    session: Session, environment: Environment, named: Path | None, receipt: Receipt
) -> Project | None:
    """The project that an environment belongs to, where it is not pinned to its stack as it should be.

    Args:
        session: the outside world.
        environment: where the stack is in place.
        named: the project's directory; None for the one that the environment lies in.
        receipt: of the stack.

    Raises:
        RefusedError: somebody else began a change of its pin, and did not finish it.
    """
    project = _project(environment, named)
    if project is None:
        return None
    _refuse_begun_by_others(session, environment, project)
    pin = _pin(session, project)
    noted = noted_project(Path(environment.prefix))
    held = pin is not None and not pin.problems and pin.requirement == f"{receipt.distribution}=={receipt.version}"
    return project if not held or noted != Path(project.directory) else None


def pinned_project(session: Session, environment: Environment, named: Path | None = None) -> Project | None:
    """The project that an environment belongs to, where it has a pin of ours; arguments likewise.

    None too where its pin is unfinished, nothing says that this user began it, and nobody has named the project.
    """
    project = _project(environment, named)
    if project is None or (named is None and _is_begun_by_others(session, project)):
        return None
    return project if _pin(session, project) is not None else None


def refuse_without_tool(session: Session, prefix: Path, project: Project) -> None:
    """Raise where the tool that makes a project's lock is not to be found; before anything slow begins.

    Raises:
        RefusedError: it is not.
    """
    from fastinstall.pins.resolver import lock_tool, variable_of  # noqa: PLC0415 (only with --pin)
    from fastinstall.pins.tools import tool_named  # noqa: PLC0415 (likewise)

    tool = tool_named(project.manager)
    if tool is not None and tool.locking is not None and lock_tool(tool, prefix, session.variables) is None:
        raise RefusedError(
            f"{project.directory} is a project of {tool.name}, and {tool.name} is not on PATH: no lock can be made",
            hint=f"name it: export {variable_of(tool)}=/path/of/{tool.name}; or leave out --pin",
        )


def pin_its_project(
    session: Session, environment: Environment, receipt: Receipt, project: Project, transaction: Transaction
) -> None:
    """Pin the stack in a project, and note in the environment which one that is.

    Args:
        session: the outside world.
        environment: where the stack is in place.
        receipt: of its setup.
        project: of `unpinned_project`.
        transaction: of the environment; to be committed next, so that a failure here undoes it.

    Raises:
        RefusedError: a foreign setting is in the way, the lock cannot be made, or it would go back on other packages.
    """
    from fastinstall.pins.pinning import pin_project  # noqa: PLC0415 (only where there is one)
    from fastinstall.pins.tool import Payload  # noqa: PLC0415 (likewise)
    from fastinstall.pins.tools import tool_named  # noqa: PLC0415 (likewise)

    prefix = Path(environment.prefix)
    if noted_project(prefix) != Path(project.directory):
        _forget(prefix, transaction)
        transaction.add(PROJECT, f"{project.directory}\n")
    tool = tool_named(project.manager)
    by_channel = tool is not None and tool.payload is Payload.CHANNEL
    wheel = Path(receipt.wheel) if by_channel else _wheel(session, environment, receipt)
    pin_project(session, environment, project, receipt, wheel)
    session.emit(Noted(message=f"pinned in the {project.manager} project {project.directory}"))


def unpin_its_project(session: Session, store: Store, project: Project, transaction: Transaction) -> None:
    """Take a project's pin back, and the note of it; the transaction is to be committed next."""
    from fastinstall.pins.pinning import unpin_project  # noqa: PLC0415 (only where there is one)

    _forget(store.prefix, transaction)
    unpin_project(session, project)


def unpin_alone(session: Session, environment: Environment, named: Path | None) -> bool:
    """Take back the pin of a project that was named, where its environment has none of our setups (a fresh clone).

    Returns:
        Whether there was one.
    """
    project = pinned_project(session, environment, named) if named is not None else None
    if project is None:
        return False
    from fastinstall.pins.pinning import unpin_project  # noqa: PLC0415 (only where there is one)

    return unpin_project(session, project)


def project_pins(named: Path | None, known: Sequence[PinState]) -> tuple[PinState, ...]:
    """The pin of a project that was named, unless it is among those that are known."""
    if named is None:
        return ()
    project = project_of(named, named)
    pin = pin_state(Path(project.directory)) if project is not None else None  # looks, and mends nothing
    return (pin,) if pin is not None and pin.file not in [each.file for each in known] else ()


def _project(environment: Environment, named: Path | None) -> Project | None:
    return project_of(Path(environment.prefix), named)


def _pin(session: Session, project: Project) -> PinState | None:
    from fastinstall.pins.pinning import project_pin  # noqa: PLC0415 (only where there is one)

    return project_pin(session, project)


def _is_begun_by_others(session: Session, project: Project) -> bool:
    from fastinstall.pins.files import interruption_of  # noqa: PLC0415 (only where there is one)

    interruption = interruption_of(Path(project.directory), session.begun_pins)
    return interruption is not None and interruption.cut is Cut.FOREIGN_PIN


def _refuse_begun_by_others(session: Session, environment: Environment, project: Project) -> None:
    if _is_begun_by_others(session, project):
        command = unpinning_command(project.directory, environment.prefix)
        raise RefusedError(
            f"{project.directory}: a change of its pin is unfinished, and nothing says that you began it",
            hint=f"if you know where it comes from, take it out: {command}",
        )


def _forget(prefix: Path, transaction: Transaction) -> None:
    if noted_project(prefix) is not None:
        transaction.perform((Move(kind=MoveKind.OUT, live=PROJECT, kept="aside/project"),))


def _wheel(session: Session, environment: Environment, receipt: Receipt) -> Path:
    wheel = find_wheel(session.directories.cache, receipt.wheel_sha256)
    if wheel is None:
        raise RefusedError(
            f"{receipt.wheel} is not in the cache any more, and a pin needs the wheel beside it",
            hint=f"make it again: {fix_command(environment.prefix)}",
        )
    return wheel
