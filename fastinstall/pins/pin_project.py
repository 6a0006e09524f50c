"""Pin a project: its manifest names the stack, its lock holds it, and the project's own installs keep it.

The pin is tried on a copy first: the manifest is edited, the lock made, and compared with the lock without the pin. If
any other distribution would be downgraded, nothing is changed.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol

from fastinstall import __version__
from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, FailedError, RefusedError
from fastinstall.core.events import Emit, Noted
from fastinstall.core.files import sha256
from fastinstall.core.lock import lock_environment
from fastinstall.core.messages import listing, quote
from fastinstall.core.process import CommandError
from fastinstall.core.values import immutable
from fastinstall.journal.log import refuse_outside
from fastinstall.model.conda_packages import CHANNEL
from fastinstall.model.facts import PinState, Project
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import Environment
from fastinstall.pins import project_files as files_of_pin
from fastinstall.pins.manifests import Addition, EditedManifest, ManifestFormError, add, format_additions
from fastinstall.pins.markers import WHEELS, PinnedBuild, parse_pinned_build
from fastinstall.pins.project_files import PinRecord, PinStage
from fastinstall.pins.recognition import read_pin_state
from fastinstall.pins.resolver import (
    LockTool,
    find_downgrades,
    lock_tool,
    make_lock_refusal,
    mirror_project,
    parse_locked_versions,
    relocate_lock,
    variable_of,
)
from fastinstall.pins.tool import CHANNEL as PROJECT_CHANNEL
from fastinstall.pins.tool import Manifest, Payload, Pinned, PinTool
from fastinstall.pins.tools import find_tool


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
    directory, prefix, tool = Path(project.directory), Path(environment.prefix), _require_tool(project)
    with lock_environment(directory):
        files_of_pin.recover(directory, session.begun_pins)
        payload = _list_payload(tool, receipt, prefix, wheel)
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
            files_of_pin.write_project_pin(directory, record, payload, change.contents, session.begun_pins)
        state = read_pin_state(directory, prefix)
    if state is None:
        raise FailedError(f"{directory}: the pin was written, and is not there", hint=f"ls -la {quote(directory)}")
    return state


def unpin_project(session: PinSession, project: Project) -> bool:
    """Take the pin out of a project: to the byte where nobody edited since, else our entries alone.

    One that is unfinished is taken out as well, whoever began it.

    Returns:
        False if there is none.
    """
    directory = Path(project.directory)
    if not files_of_pin.is_touched(directory):
        return False
    with lock_environment(directory):
        files_of_pin.recover(directory, session.begun_pins)
        return files_of_pin.take_back(directory, session.begun_pins)


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


@immutable
class _Change:
    contents: Mapping[str, bytes]
    additions: tuple[Addition, ...]
    pieces: tuple[str, ...]


def _is_held(directory: Path, prefix: Path, payload: Mapping[str, str]) -> bool:
    """Whether exactly this is pinned there already, and nothing is wrong with it."""
    state, record = read_pin_state(directory, prefix), files_of_pin.read_record(directory)
    return state is not None and not state.problems and record is not None and record.payload == payload


def _list_payload(tool: PinTool, receipt: Receipt, prefix: Path, wheel: Path) -> dict[str, Path]:
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
    tool = _require_tool(project)
    if tool.locking is not None:
        change, pinned = _change_lock(session, prefix, project, wheel)
    else:
        change, pinned = _change_manifest(project, receipt, wheel)
    caution = tool.describe_caution(project.directory, pinned)
    if caution:
        session.emit(Noted(message=caution))
    return change


def _change_lock(session: PinSession, prefix: Path, project: Project, wheel: Path) -> tuple[_Change, Pinned]:
    """The files of a project whose tool makes its lock anew."""
    directory, build = Path(project.directory), parse_pinned_build(wheel.name)
    trial = PinTrial(project=project, wheel=wheel, build=build, tool=_lock_tool(session, prefix, project, wheel))
    there = {name: _read(directory / name) for name in trial.names}
    without = files_of_pin.compute_unpinned_files(directory, trial.names)
    tried = try_pin(trial, without)
    _refuse_changed(directory, there)
    manifest, lock = trial.names
    text = (without[manifest] or b"").decode("utf-8")
    return _Change(
        contents={manifest: tried.manifest.text.encode("utf-8"), lock: tried.lock},
        additions=_require_tool(project).list_additions(text, trial.pinned),
        pieces=tried.manifest.pieces,
    ), trial.pinned


def _change_manifest(project: Project, receipt: Receipt, wheel: Path) -> tuple[_Change, Pinned]:
    """The manifest of a project whose tool meets the pin when it installs next."""
    directory, name, tool = Path(project.directory), Path(project.manifest).name, _require_tool(project)
    text = (files_of_pin.compute_unpinned_files(directory, (name,))[name] or b"").decode("utf-8")
    if tool.payload is Payload.WHEEL:
        pinned = Pinned(build=parse_pinned_build(wheel.name))
    elif receipt.conda is not None:
        pinned = Pinned(package=receipt.conda.package)
    else:
        raise RefusedError(f"{directory}: {tool.name} takes no wheel", hint="go without --pin")
    edited = edit_manifest(project, tool, text, pinned)
    additions = tool.list_additions(text, pinned)
    return _Change(contents={name: edited.text.encode("utf-8")}, additions=additions, pieces=edited.pieces), pinned


def _require_tool(project: Project) -> PinTool:
    tool = find_tool(project.manager)
    if tool is None:
        raise RefusedError(f"{project.directory}: no project of a tool that we know", hint="go without --pin")
    return tool


def _lock_tool(session: PinSession, prefix: Path, project: Project, wheel: Path) -> LockTool:
    tool = _require_tool(project)
    found = lock_tool(tool, prefix, session.variables)
    if found is None:
        raise RefusedError(
            f"{project.directory} is a project of {tool.name}, and {tool.name} is not on PATH",
            hint=f"name it: {variable_of(tool)}=/path/of/{tool.name}; or add the lines by hand, put {wheel} into "
            f"{WHEELS}, and run: {tool.name} lock",
            details=(
                "the pin would add:",
                *format_additions(tool.list_additions("", Pinned(build=parse_pinned_build(wheel.name)))),
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


@immutable
class PinTrial:
    """What is tried.

    Attributes:
        project: that is to be pinned.
        wheel: of our build.
        build: what its name says.
        tool: that makes the lock.
    """

    project: Project
    wheel: Path
    build: PinnedBuild
    tool: LockTool

    @property
    def pinned(self) -> Pinned:
        """What the project is pinned to."""
        return Pinned(build=self.build)

    @property
    def names(self) -> tuple[str, str]:
        """The manifest and the lock, relative to the project."""
        return Path(self.project.manifest).name, self.tool.tool.lock

    @property
    def lines(self) -> tuple[str, ...]:
        """What the pin adds, for people."""
        return ("the pin would add:", *format_additions(self.tool.tool.list_additions("", self.pinned)))


@immutable
class PinTrialResult:
    """What came of it.

    Attributes:
        manifest: with the pin.
        lock: that holds our build.
    """

    manifest: EditedManifest
    lock: bytes


def try_pin(trial: PinTrial, before: Mapping[str, bytes | None]) -> PinTrialResult:
    """Try a pin; nothing in the project changes.

    Args:
        trial: what is tried.
        before: manifest and lock without a pin, by file name. The lock is None if there is none.

    Raises:
        RefusedError: a foreign setting is in the way, no lock can be made, it would not hold our build, or it would go
            back on other distributions.
        DocumentError: the manifest is not TOML.
    """
    name, lock = trial.names
    manifest = edit_manifest(trial.project, trial.tool.tool, (before[name] or b"").decode("utf-8"), trial.pinned)
    with mirror_project(trial.project, trial.wheel, before) as mirror:
        plain = _make_plain_lock(trial, mirror, before[lock]).decode("utf-8")
        prepared = trial.tool.tool.prepare_lock(manifest.text, plain, trial.pinned)
        if prepared != plain:
            (mirror / lock).write_text(prepared, encoding="utf-8")
        _refuse_unrequired(trial, plain)
        (mirror / name).write_bytes(manifest.text.encode("utf-8"))
        content = _make_pinned_lock(trial, mirror)
    _refuse_unheld(trial, plain, content.decode("utf-8"))
    return PinTrialResult(manifest=manifest, lock=content)


def edit_manifest(project: Project, tool: PinTool, text: str, pinned: Pinned) -> EditedManifest:
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


def _make_plain_lock(trial: PinTrial, mirror: Path, there: bytes | None) -> bytes:
    if there is not None and trial.tool.is_fresh(mirror):
        return there
    try:
        return trial.tool.lock(mirror)
    except CommandError as error:
        raise RefusedError(
            f"{trial.project.directory}: {trial.project.manager} cannot lock the project as it is; nothing was changed",
            hint=f"cd {quote(trial.project.directory)} && {trial.project.manager} lock",
            details=error.details,
        ) from error


def _make_pinned_lock(trial: PinTrial, mirror: Path) -> bytes:
    try:
        return relocate_lock(trial.tool.lock(mirror), mirror, trial.project)
    except CommandError as error:
        raise make_lock_refusal(error, trial.project, trial.lines) from error


def _refuse_unrequired(trial: PinTrial, plain: str) -> None:
    project, name = trial.project, trial.build.name
    if name not in parse_locked_versions(plain):
        raise RefusedError(
            f"{project.directory}: nothing in the project requires {name}, so its lock cannot hold it",
            hint=f"cd {quote(project.directory)} && {project.manager} add {name}, and then the same again",
        )


def _refuse_unheld(trial: PinTrial, plain: str, pinned: str) -> None:
    project, build = trial.project, trial.build
    before, after = parse_locked_versions(plain), parse_locked_versions(pinned)
    held = after.get(build.name, frozenset())
    if build.version not in held:
        raise RefusedError(
            f"{project.directory}: the lock would hold {build.name} {listing(sorted(held)) or 'not at all'}, "
            f"and not the pinned {build.version}; nothing was changed",
            hint=f"is the project meant for Python {build.python} on Linux? See requires-python in {project.manifest}",
            details=trial.lines,
        )
    backwards = find_downgrades(before, after, but=build.name)
    if backwards:
        raise RefusedError(
            f"{project.directory}: with the pin {project.manager} would go back on "
            f"{listing(each.name for each in backwards)}; nothing was changed",
            hint=f"see who asks for another {build.name}: {trial.tool.locking.why}; or go without --pin",
            details=tuple(map(str, backwards)),
        )
