"""Make the change that pins a project to the stack, so that the project's own installs keep it.

The change is tried on a copy first: the manifest is edited, and the new lock file compared with the one without the
pin. If it downgrades any other distribution, there is none. It comes as a diff, which whoever asked for it applies:
nothing of the project is written here. The build itself goes into a directory of the user's, where the project's tool
finds it.
"""

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import files, foreign
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.surroundings import make_private
from fastinstall.core.values import immutable
from fastinstall.journal.path_rules import refuse_outside
from fastinstall.model.conda_packages import CHANNEL
from fastinstall.model.facts import Project
from fastinstall.model.receipt import Receipt
from fastinstall.pins import earlier_pins
from fastinstall.pins.manifests import merge_lines
from fastinstall.pins.resolver import LockTrial
from fastinstall.pins.tool import PinnedBuild, PinnedPackage, PinTool, parse_pinned_build
from fastinstall.pins.tools import tools

_WHEEL = 1 << 30
"""Bytes."""
_DIGITS = 12
_NO_NEWLINE = "\n\\ No newline at end of file\n"
"""Source: GNU diffutils, "Incomplete Lines"."""


@immutable
class ProjectChange:
    """A change of a project's manifest and lock.

    Attributes:
        project: the directory that holds the manifest.
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
        project: what `project_of` returns for that environment.
        receipt: what the setup recorded about the stack.
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
    project, directory, name = request.project, Path(request.project.directory), request.project.manifest.name
    tool = tools()[project.manager]
    names = (name, tool.lock) if tool.locking is not None else (name,)
    there = {each: foreign.bytes_if_there(directory / each) for each in names}
    earlier = earlier_pins.read_pin_record(directory)
    plain = {**there, **(earlier_pins.read_unpinned_files(directory, earlier) if earlier is not None else {})}
    kept, payload = _list_payload(tool, request)
    with _kept(kept, payload):
        pinned, text = _describe_build(tool, request, _name_in_manifest(kept, directory)), plain[name] or b""
        lines = tool.format_lines(text.decode("utf-8"), pinned)
        after = {name: merge_lines(text.decode("utf-8"), lines, file=project.manifest).encode("utf-8")}
        if tool.locking is not None and isinstance(pinned, PinnedBuild):
            trial = LockTrial(
                project=project,
                tool=tool,
                locking=tool.locking,
                prefix=request.prefix,
                variables=variables,
                build=pinned,
                lines=lines,
            )
            after[tool.lock] = trial.make_lock({each: plain[each] for each in names}, after[name])
    diff = "".join(format_diff(each, there[each], after[each]) for each in names)
    return ProjectChange(
        project=directory,
        manager=tool.name,
        requirement=f"{request.receipt.distribution}=={request.receipt.version}",
        diff=diff,
        notes=tuple(_describe_costs(request, tool, pinned)) if diff else (),
    )


def unpin_earlier(directory: Path) -> ProjectChange | None:
    """Return the change that takes the pin of an earlier fastinstall out of a project, or None if there is none.

    Raises:
        DocumentError: the record of the pin cannot be read.
        RefusedError: somebody has edited what the pin inserted.
    """
    record = earlier_pins.read_pin_record(directory)
    if record is None:
        return None
    plain = earlier_pins.read_unpinned_files(directory, record)
    there = {name: foreign.bytes_if_there(directory / name) for name in plain}
    notes = [
        f"{name} was made again since, and names the wheel of the pin: make it anew afterwards by {record.manager}"
        for name, content in plain.items()
        if earlier_pins.HOME.encode() in (content or b"")
    ]
    return ProjectChange(
        project=directory,
        manager=record.manager,
        requirement=record.requirement,
        diff="".join(format_diff(name, there[name], plain[name]) for name in plain),
        notes=(
            *notes,
            f"the build and the originals that it kept go by hand: rm -r {quote(directory / earlier_pins.HOME)}",
        ),
    )


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
    channel = prefix / CHANNEL  # whatever the receipt names: it lies in an environment that others may have made
    found = sorted(path for path in channel.rglob("*") if path.is_file() and not path.is_symlink())
    if request.receipt.conda is None or not found:
        raise RefusedError(
            f"{tool.name} needs the stack as a conda package, and there is none in {channel}",
            hint=f"make it: fastinstall setup --upgrade --prefix {place}",
        )
    refuse_outside(prefix, (path.parent.relative_to(prefix).as_posix() for path in found))
    payload = {path.relative_to(channel).as_posix(): path for path in found}
    # Two channels never share a directory: each has an index of all that lies in it.
    digests = "".join(f"{name} {files.sha256(path)}\n" for name, path in payload.items())
    return request.directory / f"channel-{hashlib.sha256(digests.encode()).hexdigest()[:_DIGITS]}", payload


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


def format_diff(name: str, before: bytes | None, after: bytes | None) -> str:
    r"""Return the diff of a file, such as `git apply` and patch(1) take; empty if nothing differs.

    Headers have no line `diff --git`: git then takes paths as relative to the directory in which it runs
    (git-apply(1)), so that a project in a subdirectory of its repository needs no other text.

    Args:
        name: of the file, relative to the directory in which the diff is applied.
        before: what it was; None if it was not there.
        after: what it is to be; None if it is to go.

    Raises:
        UnicodeDecodeError: it is not UTF-8.

    >>> print(format_diff("uv.lock", None, b"version = 1\n"), end="")
    --- /dev/null
    +++ b/uv.lock
    @@ -0,0 +1 @@
    +version = 1
    """
    old = f"a/{name}" if before is not None else "/dev/null"
    new = f"b/{name}" if after is not None else "/dev/null"
    lines = difflib.unified_diff(_split_lines(before), _split_lines(after), old, new)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def _split_lines(content: bytes | None) -> list[str]:
    """Split into lines and keep their ends; only a line feed ends one, as in git."""
    *lines, last = (content or b"").decode("utf-8").split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])
