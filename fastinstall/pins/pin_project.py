"""Make the change that pins a project to the stack, so that the project's own installs keep it.

The change is tried on a copy first: the manifest is edited, and the new lock file compared with the one without the
pin. If it downgrades any other distribution, there is none. It comes as a diff, which whoever asked for it applies:
nothing of the project is written here. The build itself goes into a directory of the user's, where the project's tool
finds it.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import files, foreign
from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.surroundings import make_private
from fastinstall.core.values import immutable
from fastinstall.journal.path_rules import refuse_outside
from fastinstall.model.conda_packages import CHANNEL
from fastinstall.model.pin_state import Project
from fastinstall.model.receipt import Receipt
from fastinstall.pins import earlier_pins
from fastinstall.pins.manifests import ManifestFormError, add, has_all, list_pieces, withdraw
from fastinstall.pins.markers import PinnedBuild, PinnedPackage, parse_pinned_build
from fastinstall.pins.resolver import LockTrial, require_lock_program
from fastinstall.pins.tool import Manifest, PinTool
from fastinstall.pins.tools import tools
from fastinstall.pins.unified_diff import format_diff

_WHEEL = 1 << 30
"""Bytes."""
_CHANNEL = "channel-"
_DIGITS = 12


@immutable
class ProjectChange:
    """A change of a project's manifest and lock.

    Attributes:
        project: its directory.
        manager: the name of its tool ("uv").
        requirement: what is pinned by it, or was ("pillow==13.0.0+simd.v3").
        diff: in the unified format, with paths relative to the project; empty if nothing is to change.
        notes: what to know before it is applied, a sentence each.
    """

    project: PurePath
    manager: str
    requirement: str
    diff: str
    notes: tuple[str, ...] = ()


@immutable
class PinRequest:
    """What is to be pinned where.

    Attributes:
        prefix: of the environment where the stack is in place.
        project: of `project_of`.
        receipt: of the stack.
        wheel: the file that it came from; not looked at for a tool that takes conda packages.
        directory: where the build is kept for the project's tool.
    """

    prefix: Path
    project: Project
    receipt: Receipt
    wheel: Path
    directory: Path


def make_pin(request: PinRequest, variables: Mapping[str, str]) -> ProjectChange:
    """Return the change that pins a project; a pin of ours that is there is replaced by it.

    Args:
        request: what is to be pinned where.
        variables: of the environment that the project's tool runs in.

    Raises:
        RefusedError: a foreign setting is in the way, the project's tool is not to be found or makes no lock, the
            lock would not hold the stack, or would go back on other distributions.
        DocumentError: the manifest or an earlier pin cannot be read.
    """
    project, directory = request.project, Path(request.project.directory)
    tool = tools()[project.manager]
    names = tuple(filter(None, (Path(project.manifest).name, tool.lock if tool.locking is not None else "")))
    there = {name: foreign.bytes_if_there(directory / name) for name in names}
    plain = earlier_pins.read_unpinned_files(directory, names)
    kept, payload = _list_payload(tool, request)
    pinned = _describe_build(tool, request, _name_in_manifest(kept, directory))
    with _kept(kept, payload):
        after = _make_contents(request, pinned, plain, variables)
    if any(foreign.bytes_if_there(directory / name) != content for name, content in there.items()):
        raise RefusedError(f"{directory} changed while the pin was tried", hint="run the same command again")
    diff = "".join(format_diff(name, there[name], after[name]) for name in names)
    return ProjectChange(
        project=directory,
        manager=tool.name,
        requirement=f"{request.receipt.distribution}=={request.receipt.version}",
        diff=diff,
        notes=tuple(_describe_costs(request, tool, pinned)) if diff else (),
    )


def unpin_earlier(project: Project) -> ProjectChange | None:
    """Return the change that takes the pin of an earlier fastinstall out of a project, or None if there is none.

    Files that nobody edited since get back what they were; from others our entries go.

    Raises:
        DocumentError: the record of the pin cannot be read.
        RefusedError: something of it is a link.
    """
    directory = Path(project.directory)
    record = earlier_pins.read_record(directory)
    if record is None:
        return None
    names = [file.name for file in record.files]
    plain = earlier_pins.read_unpinned_files(directory, names)
    there = {name: foreign.bytes_if_there(directory / name) for name in names}
    return ProjectChange(
        project=directory,
        manager=record.manager,
        requirement=record.requirement,
        diff="".join(format_diff(name, there[name], plain[name]) for name in names),
        notes=tuple(_describe_rest(directory, tools()[record.manager], plain)),
    )


def _describe_rest(directory: Path, tool: PinTool[Any], plain: Mapping[str, bytes | None]) -> Iterator[str]:
    if tool.locking is not None and earlier_pins.WHEELS.encode() in (plain.get(tool.lock) or b""):
        command = f"cd {quote(directory)} && {' '.join((tool.name, *tool.locking.lock))}"
        yield f"{tool.lock} was made again since, and names the wheel of the pin; make it anew afterwards: {command}"
    yield f"the build and the originals that it kept go by hand: rm -r {quote(directory / earlier_pins.HOME)}"


def _describe_costs(request: PinRequest, tool: PinTool[Any], pinned: PinnedBuild | PinnedPackage) -> Iterator[str]:
    directory = Path(request.project.directory)
    yield (
        f"the pin holds back every other Pillow, security updates included: `{request.project.sync}` keeps "
        f"{request.receipt.distribution} {request.receipt.version} until you change it"
    )
    if pinned.directory.is_absolute():
        yield (
            f"{request.project.manifest.name} will name {pinned.directory}, which other machines do not have; "
            f"to share it, keep the build in the project: add --wheels {quote(directory / 'wheels')}"
        )
    caution = tool.describe_caution(directory, pinned)
    if caution:
        yield caution
    if (directory / earlier_pins.RECORD).is_file():
        yield f"replaces the pin of an earlier fastinstall; then delete: rm -r {quote(directory / earlier_pins.HOME)}"


def _list_payload(tool: PinTool[Any], request: PinRequest) -> tuple[Path, dict[str, Path]]:
    """Return the directory that the project's tool is led to, and what has to lie in it, by its path in there."""
    if not tool.takes_packages:
        return request.directory, {request.wheel.name: request.wheel}
    prefix, place = request.prefix, quote(request.prefix)
    if request.receipt.conda is None:
        raise RefusedError(
            f"{tool.name} makes {prefix}, and does not know the wheel of the stack in it",
            hint=f"make a conda package of it: fastinstall setup --prefix {place}",
        )
    channel = prefix / CHANNEL  # whatever the receipt names: it lies in an environment that others may have made
    found = sorted(path for path in channel.rglob("*") if path.is_file() and not path.is_symlink())
    if not found:
        raise RefusedError(
            f"{channel}: missing, so {tool.name} cannot find the stack's package",
            hint=f"restore it: fastinstall doctor --fix --prefix {place}",
        )
    refuse_outside(prefix, (path.parent.relative_to(prefix).as_posix() for path in found))
    payload = {path.relative_to(channel).as_posix(): path for path in found}
    # Two channels never share a directory: each has an index of all that lies in it.
    digests = "".join(f"{name} {files.sha256(path)}\n" for name, path in payload.items())
    return request.directory / f"{_CHANNEL}{hashlib.sha256(digests.encode()).hexdigest()[:_DIGITS]}", payload


@contextmanager
def _kept(directory: Path, payload: Mapping[str, Path]) -> Iterator[None]:
    """Put a build where the project's tool finds it; what is put there goes again if the block raises.

    Raises:
        RefusedError: another build of the same name lies there.
    """
    fresh = [name for name in payload if not (directory / name).exists()]
    for name in payload.keys() - set(fresh):
        if files.sha256(directory / name) != files.sha256(payload[name]):
            raise RefusedError(
                f"{directory / name}: another build has this name, and the locks of other projects may hold to it",
                hint="keep this one elsewhere: fastinstall guard pin --wheels DIR",
            )
    make_private(directory)
    try:
        for name in fresh:
            files.write_bytes(directory / name, foreign.read_bytes(payload[name], limit=_WHEEL))
        yield
    except BaseException:
        for name in fresh:
            (directory / name).unlink(missing_ok=True)
        raise


def _name_in_manifest(place: Path, project: Path) -> PurePath:
    """Return a directory relative to the project that it lies in, so that this can be moved and committed."""
    whole, project = place.resolve(), project.resolve()
    return whole.relative_to(project) if whole.is_relative_to(project) else whole


def _describe_build(tool: PinTool[Any], request: PinRequest, place: PurePath) -> PinnedBuild | PinnedPackage:
    if tool.takes_packages and request.receipt.conda is not None:
        return PinnedPackage(package=request.receipt.conda.package, directory=place)
    return parse_pinned_build(request.wheel.name, place)


def _make_contents(
    request: PinRequest,
    pinned: PinnedBuild | PinnedPackage,
    plain: Mapping[str, bytes | None],
    variables: Mapping[str, str],
) -> dict[str, bytes | None]:
    """Return the manifest with the pin and, where the project's tool locks beforehand, its lock; both by name."""
    project, tool, name = request.project, tools()[request.project.manager], request.project.manifest.name
    text = (plain[name] or b"").decode("utf-8")
    manifest = edit_manifest(project, tool, _withdraw_others(request, tool, pinned, text), pinned)
    contents: dict[str, bytes | None] = {name: manifest.encode("utf-8")}
    if tool.locking is None or not isinstance(pinned, PinnedBuild):
        return contents
    trial = LockTrial(
        project=project,
        tool=tool,
        locking=tool.locking,
        program=require_lock_program(project, tool, variables, tool.describe_additions("", pinned)),
        prefix=request.prefix,
        variables=variables,
        build=pinned,
    )
    return {**contents, tool.lock: trial.make_lock(plain, manifest)}


def _withdraw_others(request: PinRequest, tool: PinTool[Any], pinned: PinnedBuild | PinnedPackage, text: str) -> str:
    """Take a pin on another of our builds that lie in the directory out of a manifest."""
    for other in _list_kept(request, pinned):
        with suppress(ValueError):  # not TOML, which is told where the manifest is edited
            additions = tool.list_additions(text, other)
            if other != pinned and has_all(text, additions):
                return withdraw(text, additions, tuple(list_pieces(text, additions)))
    return text


def _list_kept(request: PinRequest, pinned: PinnedBuild | PinnedPackage) -> Iterator[PinnedBuild | PinnedPackage]:
    project = Path(request.project.directory)
    for entry in sorted(request.directory.iterdir()):
        if isinstance(pinned, PinnedPackage) and entry.name.startswith(_CHANNEL):
            yield PinnedPackage(package=pinned.package, directory=_name_in_manifest(entry, project))
        elif isinstance(pinned, PinnedBuild) and entry.suffix == ".whl":
            with suppress(ValueError):  # not a wheel of ours
                yield parse_pinned_build(entry.name, pinned.directory)


def edit_manifest(project: Project, tool: PinTool[Any], text: str, pinned: PinnedBuild | PinnedPackage) -> str:
    """Return a manifest with the pin; unchanged if it has it.

    Args:
        project: that is to be pinned.
        tool: of it.
        text: of the manifest.
        pinned: what it is pinned to.

    Raises:
        RefusedError: a foreign setting is in the way.
        DocumentError: it is not TOML.
    """
    settings = {name: Path(project.directory, name) for name in tool.beside}
    beside = {name: foreign.text_if_there(file) for name, file in settings.items() if file.is_file()}
    try:
        additions = tool.list_additions(text, pinned)
        if has_all(text, additions):
            return text
        tool.refuse_foreign(Manifest(path=project.manifest, text=text, beside=beside), pinned)
        return add(text, additions)
    except ManifestFormError as error:
        raise DocumentError(project.manifest, "", str(error)) from error
    except ValueError as error:
        raise DocumentError(project.manifest, "", f"not TOML: {error}") from error
