"""A pin tried on a copy of the project: the manifest edited, the lock made, and held against the lock without it."""

from collections.abc import Mapping
from pathlib import Path

from fastinstall.errors import DocumentError, RefusedError
from fastinstall.model.immutable import immutable
from fastinstall.model.pins import Project
from fastinstall.pins.additions import lines
from fastinstall.pins.edits import Edited, add
from fastinstall.pins.lock_contents import locked_versions, steps_back
from fastinstall.pins.resolver import LockTool, mirrored, relocated, unlockable
from fastinstall.pins.tool import Manifest, Pinned, PinTool
from fastinstall.rules.messages import listing, quote
from fastinstall.rules.pinned_build import PinnedBuild
from fastinstall.system import foreign
from fastinstall.system.process import CommandError


@immutable
class Trial:
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
        return ("the pin would add:", *lines(self.tool.tool.additions("", self.pinned)))


@immutable
class Tried:
    """What came of it.

    Attributes:
        manifest: with the pin.
        lock: that holds our build.
    """

    manifest: Edited
    lock: bytes


def try_pin(trial: Trial, before: Mapping[str, bytes | None]) -> Tried:
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
    with mirrored(trial.project, trial.wheel, before) as mirror:
        plain = _plain_lock(trial, mirror, before[lock]).decode("utf-8")
        prepared = trial.tool.tool.prepare_lock(manifest.text, plain, trial.pinned)
        if prepared != plain:
            (mirror / lock).write_text(prepared, encoding="utf-8")
        _refuse_unrequired(trial, plain)
        (mirror / name).write_bytes(manifest.text.encode("utf-8"))
        content = _pinned_lock(trial, mirror)
    _refuse_unheld(trial, plain, content.decode("utf-8"))
    return Tried(manifest=manifest, lock=content)


def edit_manifest(project: Project, tool: PinTool, text: str, pinned: Pinned) -> Edited:
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
        return add(text, tool.additions(text, pinned))
    except ValueError as error:
        raise DocumentError(project.manifest, "", f"not TOML: {error}") from error


def _plain_lock(trial: Trial, mirror: Path, there: bytes | None) -> bytes:
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


def _pinned_lock(trial: Trial, mirror: Path) -> bytes:
    try:
        return relocated(trial.tool.lock(mirror), mirror, trial.project)
    except CommandError as error:
        raise unlockable(error, trial.project, trial.lines) from error


def _refuse_unrequired(trial: Trial, plain: str) -> None:
    project, name = trial.project, trial.build.name
    if name not in locked_versions(plain):
        raise RefusedError(
            f"{project.directory}: nothing in the project requires {name}, so its lock cannot hold it",
            hint=f"cd {quote(project.directory)} && {project.manager} add {name}, and then the same again",
        )


def _refuse_unheld(trial: Trial, plain: str, pinned: str) -> None:
    project, build = trial.project, trial.build
    before, after = locked_versions(plain), locked_versions(pinned)
    held = after.get(build.name, frozenset())
    if build.version not in held:
        raise RefusedError(
            f"{project.directory}: the lock would hold {build.name} {listing(sorted(held)) or 'not at all'}, "
            f"and not the pinned {build.version}; nothing was changed",
            hint=f"is the project meant for Python {build.python} on Linux? See requires-python in {project.manifest}",
            details=trial.lines,
        )
    backwards = steps_back(before, after, but=build.name)
    if backwards:
        raise RefusedError(
            f"{project.directory}: with the pin {project.manager} would go back on "
            f"{listing(each.name for each in backwards)}; nothing was changed",
            hint=f"see who asks for another {build.name}: {trial.tool.locking.why}; or go without --pin",
            details=tuple(map(str, backwards)),
        )
