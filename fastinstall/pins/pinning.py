"""The pin of a project: its manifest says so, its lock holds it, and its own installs keep the stack.

It is tried on a copy first. Where the lock with the pin goes back on any other distribution, nothing is changed.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol

from fastinstall import __version__
from fastinstall.errors import FailedError, RefusedError
from fastinstall.journal.bounds import refuse_outside
from fastinstall.model.environment import Environment
from fastinstall.model.event import Emit, Noted
from fastinstall.model.immutable import immutable
from fastinstall.model.pins import PinState, Project
from fastinstall.model.receipt import Receipt
from fastinstall.pins import files as files_of_pin
from fastinstall.pins.additions import Addition, lines
from fastinstall.pins.record import PinRecord, PinStage
from fastinstall.pins.resolver import LockTool, lock_tool, variable_of
from fastinstall.pins.state import pin_state
from fastinstall.pins.tool import CHANNEL as PROJECT_CHANNEL
from fastinstall.pins.tool import Payload, Pinned, PinTool
from fastinstall.pins.tools import tool_named
from fastinstall.pins.trial import Trial, edit_manifest, try_pin
from fastinstall.rules.conda_stack import CHANNEL
from fastinstall.rules.messages import quote
from fastinstall.rules.pinned_build import WHEELS, pinned_build
from fastinstall.system import foreign
from fastinstall.system.files import sha256
from fastinstall.system.lock import locked


class PinSession(Protocol):
    """What of the outside world a pin needs; `api.session.Session` has it."""

    @property
    def variables(self) -> Mapping[str, str]:
        """Of the environment that the tool runs in."""

    @property
    def emit(self) -> Emit:
        """Tells people."""

    @property
    def now(self) -> Callable[[], datetime]:
        """The clock."""

    @property
    def begun_pins(self) -> files_of_pin.Begun:
        """Notes of changes that this user has begun."""


def pin_project(
    session: PinSession, environment: Environment, project: Project, receipt: Receipt, wheel: Path
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
    directory, prefix, tool = Path(project.directory), Path(environment.prefix), _tool_of(project)
    with locked(directory):
        files_of_pin.recover(directory, session.begun_pins)
        payload = _payload(tool, receipt, prefix, wheel)
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


def unpin_project(session: PinSession, project: Project) -> bool:
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


def project_pin(session: PinSession, project: Project) -> PinState | None:
    """Return the state of a project's pin, or None if the project has no pin.

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


def _payload(tool: PinTool, receipt: Receipt, prefix: Path, wheel: Path) -> dict[str, Path]:
    """What has to lie beside the project, by its path in there."""
    if tool.payload is Payload.WHEEL:
        return {f"{WHEELS}/{wheel.name}": wheel}
    if receipt.conda is None:
        raise RefusedError(
            f"{prefix} is made by {tool.name}, and the stack in it is a wheel that {tool.name} does not know",
            hint=f"make a conda package of it: fastinstall setup --pin --prefix {quote(prefix)}",
        )
    channel = prefix / CHANNEL  # whatever the receipt names: it lies in an environment that others may have made
    found = sorted(path for path in channel.rglob("*") if path.is_file() and not path.is_symlink())
    if not found:
        raise RefusedError(
            f"{channel}: missing, and {tool.name} would find the stack's package nowhere else",
            hint=f"bring it back: fastinstall doctor --fix --prefix {quote(prefix)}",
        )
    refuse_outside(prefix, (path.parent.relative_to(prefix).as_posix() for path in found))
    return {f"{PROJECT_CHANNEL}/{path.relative_to(channel).as_posix()}": path for path in found}


def _change(session: PinSession, prefix: Path, project: Project, receipt: Receipt, wheel: Path) -> _Change:
    tool = _tool_of(project)
    if tool.locking is not None:
        change, pinned = _of_lock(session, prefix, project, wheel)
    else:
        change, pinned = _of_manifest(project, receipt, wheel)
    caution = tool.caution(project.directory, pinned)
    if caution:
        session.emit(Noted(message=caution))
    return change


def _of_lock(session: PinSession, prefix: Path, project: Project, wheel: Path) -> tuple[_Change, Pinned]:
    """The files of a project whose tool makes its lock anew."""
    directory, build = Path(project.directory), pinned_build(wheel.name)
    trial = Trial(project=project, wheel=wheel, build=build, tool=_lock_tool(session, prefix, project, wheel))
    there = {name: _read(directory / name) for name in trial.names}
    without = files_of_pin.unpinned(directory, trial.names)
    tried = try_pin(trial, without)
    _refuse_changed(directory, there)
    manifest, lock = trial.names
    text = (without[manifest] or b"").decode("utf-8")
    return _Change(
        contents={manifest: tried.manifest.text.encode("utf-8"), lock: tried.lock},
        additions=_tool_of(project).additions(text, trial.pinned),
        pieces=tried.manifest.pieces,
    ), trial.pinned


def _of_manifest(project: Project, receipt: Receipt, wheel: Path) -> tuple[_Change, Pinned]:
    """The manifest of a project whose tool meets the pin when it installs next."""
    directory, name, tool = Path(project.directory), Path(project.manifest).name, _tool_of(project)
    text = (files_of_pin.unpinned(directory, (name,))[name] or b"").decode("utf-8")
    if tool.payload is Payload.WHEEL:
        pinned = Pinned(build=pinned_build(wheel.name))
    elif receipt.conda is not None:
        pinned = Pinned(package=receipt.conda.package)
    else:
        raise RefusedError(f"{directory}: {tool.name} takes no wheel", hint="go without --pin")
    edited = edit_manifest(project, tool, text, pinned)
    additions = tool.additions(text, pinned)
    return _Change(contents={name: edited.text.encode("utf-8")}, additions=additions, pieces=edited.pieces), pinned


def _tool_of(project: Project) -> PinTool:
    tool = tool_named(project.manager)
    if tool is None:
        raise RefusedError(f"{project.directory}: no project of a tool that we know", hint="go without --pin")
    return tool


def _lock_tool(session: PinSession, prefix: Path, project: Project, wheel: Path) -> LockTool:
    tool = _tool_of(project)
    found = lock_tool(tool, prefix, session.variables)
    if found is None:
        raise RefusedError(
            f"{project.directory} is a project of {tool.name}, and {tool.name} is not on PATH",
            hint=f"name it: {variable_of(tool)}=/path/of/{tool.name}; or add the lines by hand, put {wheel} into "
            f"{WHEELS}, and run: {tool.name} lock",
            details=(
                "the pin would add:",
                *lines(tool.additions("", Pinned(build=pinned_build(wheel.name)))),
            ),
        )
    return found


def _refuse_changed(directory: Path, there: Mapping[str, bytes | None]) -> None:
    changed = [name for name, content in there.items() if _read(directory / name) != content]
    if changed:
        raise RefusedError(
            f"{directory / changed[0]} has changed while the pin was tried; nothing was changed by us",
            hint="run the same command again",
        )


def _read(path: Path) -> bytes | None:
    return foreign.bytes_if_there(path)
