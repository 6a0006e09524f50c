"""The pin of a project: its manifest says so, its lock holds it, and its own installs keep the stack.

It is tried on a copy first. Where the lock with the pin goes back on any other distribution, nothing is changed.
"""

from collections.abc import Mapping
from pathlib import Path

from fastinstall import __version__
from fastinstall.api.project_trial import Trial, try_pin
from fastinstall.api.session import Session
from fastinstall.errors import FailedError, RefusedError
from fastinstall.installers.locks import LockTool, lock_tool
from fastinstall.journal import project_pin as files_of_pin
from fastinstall.journal.bounds import refuse_outside
from fastinstall.model.environment import Environment
from fastinstall.model.event import Noted
from fastinstall.model.immutable import immutable
from fastinstall.model.pins import Manager, PinState, Project
from fastinstall.model.receipt import Receipt
from fastinstall.probes.project_pins import pin_state
from fastinstall.rules.conda_stack import CHANNEL
from fastinstall.rules.messages import quote
from fastinstall.rules.projects import pixi
from fastinstall.rules.projects.additions import Addition, lines
from fastinstall.rules.projects.build import WHEELS, pinned_build
from fastinstall.rules.projects.edits import add
from fastinstall.rules.projects.record import PinRecord, PinStage
from fastinstall.rules.projects.ways import WAYS
from fastinstall.system import foreign
from fastinstall.system.files import sha256
from fastinstall.system.lock import locked


def pin_project(
    session: Session, environment: Environment, project: Project, receipt: Receipt, wheel: Path
) -> PinState:
    """Pin the stack in a project; a pin of ours that is there is replaced.

    Args:
        session: the outside world.
        environment: where the stack is in place.
        project: of `project_of`.
        receipt: of the stack.
        wheel: the file that it came from.

    Returns:
        The pin as it lies there.

    Raises:
        RefusedError: a foreign setting is in the way, the project's tool is not to be found or makes no lock, the
            lock would not hold the stack, or would go back on other distributions. Nothing is changed then.
    """
    directory, prefix = Path(project.directory), Path(environment.prefix)
    with locked(directory):
        files_of_pin.recover(directory, session.begun_pins)
        payload = _payload(project, receipt, prefix, wheel)
        digests = {name: sha256(file) for name, file in payload.items()}
        if not _is_held(directory, prefix, digests):
            change = _change(session, prefix, project, receipt, wheel)
            record = PinRecord(
                stage=PinStage.PINNING,
                at=session.now().replace(microsecond=0).isoformat(),
                tool_version=__version__,
                prefix=prefix.relative_to(directory) if prefix.is_relative_to(directory) else prefix,
                manager=project.manager,
                requirement=f"{receipt.distribution}=={receipt.version}",
                payload=digests,
                files=(),
                additions=change.additions,
                pieces=change.pieces,
            )
            files_of_pin.take_back(directory, session.begun_pins)
            files_of_pin.put(directory, record, payload, change.contents, session.begun_pins)
        state = pin_state(directory, prefix)
    if state is None:
        raise FailedError(f"{directory}: the pin was written, and is not there", hint=f"ls -la {quote(directory)}")
    return state


def unpin_project(session: Session, project: Project) -> bool:
    """Take the pin out of a project: to the byte where nobody edited since, else our entries alone.

    One that is unfinished is taken out as well, whoever began it.

    Returns:
        False where there is none.
    """
    directory = Path(project.directory)
    if not files_of_pin.is_touched(directory):
        return False
    with locked(directory):
        files_of_pin.recover(directory, session.begun_pins)
        return files_of_pin.take_back(directory, session.begun_pins)


def project_pin(session: Session, project: Project) -> PinState | None:
    """The pin of a project, with what is wrong with it; None where there is none.

    A change of this user's that was cut short is brought to its end first.
    """
    directory = Path(project.directory)
    if not files_of_pin.is_touched(directory):
        return None
    with locked(directory):
        files_of_pin.recover(directory, session.begun_pins)
    return pin_state(directory)


@immutable
class _Change:
    contents: Mapping[str, bytes]
    additions: tuple[Addition, ...]
    pieces: tuple[str, ...]


def _is_held(directory: Path, prefix: Path, payload: Mapping[str, str]) -> bool:
    """Whether exactly this is pinned there already, and nothing is wrong with it."""
    state, record = pin_state(directory, prefix), files_of_pin.read_record(directory)
    return state is not None and not state.problems and record is not None and record.payload == payload


def _payload(project: Project, receipt: Receipt, prefix: Path, wheel: Path) -> dict[str, Path]:
    """What has to lie beside the project, by its path in there."""
    if project.manager is not Manager.PIXI:
        return {f"{WHEELS}/{wheel.name}": wheel}
    if receipt.conda is None:
        raise RefusedError(
            f"{prefix} is made by pixi, and the stack in it is a wheel that pixi does not know",
            hint=f"make a conda package of it: fastinstall setup --pin --prefix {quote(prefix)}",
        )
    channel = prefix / CHANNEL  # whatever the receipt names: it lies in an environment that others may have made
    found = sorted(path for path in channel.rglob("*") if path.is_file() and not path.is_symlink())
    if not found:
        raise RefusedError(
            f"{channel}: missing, and pixi would find the stack's package nowhere else",
            hint=f"bring it back: fastinstall doctor --fix --prefix {quote(prefix)}",
        )
    refuse_outside(prefix, (path.parent.relative_to(prefix).as_posix() for path in found))
    return {f"{pixi.CHANNEL}/{path.relative_to(channel).as_posix()}": path for path in found}


def _change(session: Session, prefix: Path, project: Project, receipt: Receipt, wheel: Path) -> _Change:
    if project.manager is Manager.PIXI:
        return _of_pixi(session, project, receipt)
    return _of_lock(session, prefix, project, wheel)


def _of_lock(session: Session, prefix: Path, project: Project, wheel: Path) -> _Change:
    """The files of a project whose tool makes its lock anew."""
    directory, build = Path(project.directory), pinned_build(wheel.name)
    trial = Trial(project=project, wheel=wheel, build=build, tool=_tool(session, prefix, project, wheel))
    there = {name: _read(directory / name) for name in trial.names}
    tried = try_pin(trial, files_of_pin.unpinned(directory, trial.names))
    _refuse_changed(directory, there)
    if project.manager is Manager.PDM:
        where = f"Linux on {build.machine} with Python {build.python}"
        session.emit(Noted(message=f"pdm locks one Pillow for all: {directory} now installs on {where} alone"))
    manifest, lock = trial.names
    return _Change(
        contents={manifest: tried.manifest.text.encode("utf-8"), lock: tried.lock},
        additions=WAYS[project.manager].additions(build),
        pieces=tried.manifest.pieces,
    )


def _of_pixi(session: Session, project: Project, receipt: Receipt) -> _Change:
    """The manifest of a workspace of pixi, whose lock pixi makes when it installs next."""
    directory, name = Path(project.directory), Path(project.manifest).name
    text = (files_of_pin.unpinned(directory, (name,))[name] or b"").decode("utf-8")
    if receipt.conda is None:
        raise RefusedError(f"{directory}: pixi takes no wheel", hint="go without --pin")
    package = receipt.conda.package
    pixi.refuse_foreign(text, package)
    additions = pixi.additions(text, package)
    edited = add(text, additions)
    session.emit(Noted(message=f"pixi has not tried it: look at what `pixi lock` says in {directory}"))
    return _Change(contents={name: edited.text.encode("utf-8")}, additions=additions, pieces=edited.pieces)


def _tool(session: Session, prefix: Path, project: Project, wheel: Path) -> LockTool:
    manager = project.manager
    tool = lock_tool(manager, prefix, session.variables)
    if tool is None:
        raise RefusedError(
            f"{project.directory} is a project of {manager}, and {manager} is not on PATH",
            hint=f"name it: FASTINSTALL_{manager.name}=/path/of/{manager}; or add the lines by hand, put {wheel} into "
            f"{WHEELS}, and run: {manager} lock",
            details=("the pin would add:", *lines(WAYS[manager].additions(pinned_build(wheel.name)))),
        )
    return tool


def _refuse_changed(directory: Path, there: Mapping[str, bytes | None]) -> None:
    changed = [name for name, content in there.items() if _read(directory / name) != content]
    if changed:
        raise RefusedError(
            f"{directory / changed[0]} has changed while the pin was tried; nothing was changed by us",
            hint="run the same command again",
        )


def _read(path: Path) -> bytes | None:
    return foreign.bytes_if_there(path)
