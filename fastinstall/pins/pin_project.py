"""Pin a project: its manifest and lock file name the stack, so that the project's own installs keep it.

The pin is tried on a copy first: the manifest is edited, and the new lock file compared with the one without the pin.
If it downgrades any other distribution, nothing changes.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from fastinstall import __version__
from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.core.events import Emit, Noted
from fastinstall.core.files import sha256
from fastinstall.core.lock import lock_environment
from fastinstall.core.messages import quote
from fastinstall.journal.log import refuse_outside
from fastinstall.model.conda import CondaPackage
from fastinstall.model.conda_packages import CHANNEL
from fastinstall.model.facts import PinState, Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import Environment
from fastinstall.pins import project_files as files_of_pin
from fastinstall.pins.manifests import EditedManifest, ManifestFormError, add
from fastinstall.pins.markers import WHEELS, PinnedBuild, parse_pinned_build
from fastinstall.pins.project_files import PinRecord, PinStage
from fastinstall.pins.recognition import read_pin_state
from fastinstall.pins.resolver import LockTrial, require_lock_program
from fastinstall.pins.tool import CHANNEL as PROJECT_CHANNEL
from fastinstall.pins.tool import Manifest, PinTool
from fastinstall.pins.tools import tools


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
    def begun_pins(self) -> files_of_pin.UnfinishedPins:
        """Notes of changes that this user has begun."""


def pin_project(session: PinSession, environment: Environment, project: Project, receipt: Receipt, wheel: Path) -> None:
    """Pin the stack in a project; a pin of ours that is there is replaced.

    Args:
        session: the outside world.
        environment: where the stack is in place.
        project: of `project_of`.
        receipt: of the stack.
        wheel: the file that it came from.

    Raises:
        RefusedError: a foreign setting is in the way, the project's tool is not to be found or makes no lock, the
            lock would not hold the stack, or would go back on other distributions. Nothing is changed then.
    """
    directory, prefix = Path(project.directory), Path(environment.prefix)
    with lock_environment(directory):
        files_of_pin.recover(directory, session.begun_pins)
        payload = _list_payload(tools()[project.manager], receipt, prefix, wheel)
        digests = {name: sha256(file) for name, file in payload.items()}
        if _is_held(directory, prefix, digests):
            return
        manifest, contents = _make_files(session, prefix, project, receipt, wheel)
        record = PinRecord(
            stage=PinStage.PINNING,
            at=session.now().replace(microsecond=0).isoformat(),
            tool_version=__version__,
            prefix=prefix.relative_to(directory) if prefix.is_relative_to(directory) else prefix,
            manager=project.manager,
            requirement=f"{receipt.distribution}=={receipt.version}",
            payload=digests,
            files=(),
            additions=manifest.additions,
            pieces=manifest.pieces,
        )
        files_of_pin.take_back(directory, session.begun_pins)
        files_of_pin.write_project_pin(directory, record, payload, contents, session.begun_pins)


def unpin_project(session: PinSession, project: Project) -> bool:
    """Remove the pin from a project: restore the files exactly if nobody edited them, else remove our entries.

    Also removes an unfinished pin, whoever began it.

    Returns:
        False if there is none.
    """
    directory = Path(project.directory)
    if not files_of_pin.is_touched(directory):
        return False
    with lock_environment(directory):
        files_of_pin.recover(directory, session.begun_pins)
        is_removed = files_of_pin.take_back(directory, session.begun_pins)
    for sentence in describe_stale_lock(directory, project.manager):
        session.emit(Noted(message=sentence, warning=True))
    return is_removed


def describe_stale_lock(directory: Path, manager: str) -> Iterator[str]:
    """Yield a sentence where a project's lock, made since it was pinned, names the wheel that went with the pin.

    Args:
        directory: of the project.
        manager: its tool, by name.
    """
    tool = tools()[manager]
    if tool.locking is not None and WHEELS in foreign.text_or_empty(directory / tool.lock):
        command = " ".join((tool.name, *tool.locking.lock))
        yield f"{directory / tool.lock} still names the wheel of the pin, which is gone: run `{command}` in {directory}"


def project_pin(session: PinSession, project: Project) -> PinState | None:
    """Return the state of a project's pin, or None if the project has no pin.

    A change of this user's that was cut short is brought to its end first.
    """
    directory = Path(project.directory)
    if not files_of_pin.is_touched(directory):
        return None
    with lock_environment(directory):
        files_of_pin.recover(directory, session.begun_pins)
    return read_pin_state(directory)


def _is_held(directory: Path, prefix: Path, payload: Mapping[str, str]) -> bool:
    """Whether exactly this is pinned there already, and nothing is wrong with it."""
    state, record = read_pin_state(directory, prefix), files_of_pin.read_record(directory)
    return state is not None and not state.problems and record is not None and record.payload == payload


def _list_payload(tool: PinTool[Any], receipt: Receipt, prefix: Path, wheel: Path) -> dict[str, Path]:
    """What has to lie beside the project, by its path in there."""
    if tool.payload == WHEELS:
        return {f"{WHEELS}/{wheel.name}": wheel}
    if receipt.conda is None:
        raise RefusedError(
            f"{tool.name} makes {prefix}, and does not know the wheel of the stack in it",
            hint=f"make a conda package of it: fastinstall setup --pin --prefix {quote(prefix)}",
        )
    channel = prefix / CHANNEL  # whatever the receipt names: it lies in an environment that others may have made
    found = sorted(path for path in channel.rglob("*") if path.is_file() and not path.is_symlink())
    if not found:
        raise RefusedError(
            f"{channel}: missing, so {tool.name} cannot find the stack's package",
            hint=f"restore it: fastinstall doctor --fix --prefix {quote(prefix)}",
        )
    refuse_outside(prefix, (path.parent.relative_to(prefix).as_posix() for path in found))
    return {f"{PROJECT_CHANNEL}/{path.relative_to(channel).as_posix()}": path for path in found}


def _make_files(
    session: PinSession, prefix: Path, project: Project, receipt: Receipt, wheel: Path
) -> tuple[EditedManifest, dict[str, bytes]]:
    """The manifest with the pin and, where the project's tool locks beforehand, its lock; both by name."""
    directory, name, tool = Path(project.directory), Path(project.manifest).name, tools()[project.manager]
    by_channel = receipt.conda if tool.payload == PROJECT_CHANNEL else None
    pinned = by_channel.package if by_channel is not None else parse_pinned_build(wheel.name)
    trial = _prepare_trial(session, prefix, project, wheel)
    names = (name, tool.lock) if trial is not None else (name,)
    there = {each: foreign.bytes_if_there(directory / each) for each in names}
    without = files_of_pin.compute_unpinned_files(directory, names)
    manifest = edit_manifest(project, tool, (without[name] or b"").decode("utf-8"), pinned)
    contents = {name: manifest.text.encode("utf-8")}
    if trial is not None:
        contents[tool.lock] = trial.make_lock(without, manifest.text)
    changed = [each for each, content in there.items() if foreign.bytes_if_there(directory / each) != content]
    if changed:
        raise RefusedError(
            f"{directory / changed[0]} changed while the pin was tried; fastinstall changed nothing",
            hint="run the same command again",
        )
    caution = tool.describe_caution(directory, pinned)
    if caution:
        session.emit(Noted(message=caution))
    return manifest, contents


def _prepare_trial(session: PinSession, prefix: Path, project: Project, wheel: Path) -> LockTrial | None:
    """What tries the pin; None if only the project's tool itself can."""
    tool = tools()[project.manager]
    if tool.locking is None:
        return None
    by_hand = tool.describe_additions("", parse_pinned_build(wheel.name))
    return LockTrial(
        project=project,
        tool=tool,
        locking=tool.locking,
        program=require_lock_program(project, tool, session.variables, by_hand),
        prefix=prefix,
        variables=session.variables,
        wheel=wheel,
    )


def edit_manifest(
    project: Project, tool: PinTool[Any], text: str, pinned: PinnedBuild | CondaPackage
) -> EditedManifest:
    """A manifest with the pin.

    Args:
        project: that is to be pinned.
        tool: of it.
        text: of the manifest without the pin.
        pinned: what it is pinned to.

    Raises:
        RefusedError: a foreign setting is in the way.
        DocumentError: it is not TOML.
    """
    settings = {name: Path(project.directory, name) for name in tool.beside}
    beside = {name: foreign.text_if_there(file) for name, file in settings.items() if file.is_file()}
    try:
        tool.refuse_foreign(Manifest(path=project.manifest, text=text, beside=beside), pinned)
        return add(text, tool.list_additions(text, pinned))
    except ManifestFormError as error:
        raise DocumentError(project.manifest, "", str(error)) from error
    except ValueError as error:
        raise DocumentError(project.manifest, "", f"not TOML: {error}") from error
