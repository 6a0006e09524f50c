"""The channel of a setup: the package of the stack, packed once and then taken from the cache, and the guard's."""

import shutil
from dataclasses import replace
from pathlib import Path

from fastinstall import __version__
from fastinstall.actions.workshop import Workshop
from fastinstall.build.conda_channel import write_index
from fastinstall.build.conda_package import pack_guard, pack_stack
from fastinstall.build.request import BuildResult
from fastinstall.errors import DocumentError
from fastinstall.model.codec import decode, digest, dump, encode
from fastinstall.model.conda import CondaPackage, CondaStack
from fastinstall.model.facts import Interpreter
from fastinstall.model.parsing import json_data
from fastinstall.model.steps import MakeCondaPackages
from fastinstall.system import files, foreign

_FORMAT = 1
"""Goes up with whatever changes the bytes of a package that is made of the same wheel."""

_PACKED = "packed.json"


def pack_channel(
    step: MakeCondaPackages, built: BuildResult, interpreter: Interpreter, staged: Path, workshop: Workshop
) -> CondaStack:
    """Write the channel into `staged`, from where it is moved to its place.

    Returns:
        The packages, as they are found once the channel is in its place.

    Raises:
        FailedError: the wheel is damaged or another than was planned.
    """
    package = _stack_package(step, built, interpreter, staged, workshop)
    guard = pack_guard(step.guard, staged) if step.guard is not None else None
    write_index(staged)
    channel = Path(step.channel)
    return CondaStack(
        package=_placed(package, channel),
        guard=_placed(guard, channel) if guard is not None else None,
        channel=channel,
    )


def _stack_package(
    step: MakeCondaPackages, built: BuildResult, interpreter: Interpreter, staged: Path, workshop: Workshop
) -> CondaPackage:
    planned = replace(step.package, channel="")  # the same file serves every environment
    decisive = (_FORMAT, __version__, built.sha256, planned, interpreter.version, interpreter.abi)
    kept = workshop.cache / "conda" / "packed" / digest(decisive)
    found = _kept(kept)
    if found is None:
        with files.temporary_directory("packed", within=workshop.cache / "tmp") as space:
            found = pack_stack(built.wheel, planned, interpreter, space / "packed")
            files.write_text(space / "packed" / _PACKED, dump(encode(found)))
            files.publish(space / "packed", kept, space / "rival")
    target = _file(found, staged)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_file(found, kept), target)
    return found


def _kept(directory: Path) -> CondaPackage | None:
    """What was packed before, if its file is still what it was."""
    note = directory / _PACKED
    try:
        found = decode(CondaPackage, json_data(foreign.read_text(note)), file=note)
        return found if files.sha256(_file(found, directory)) == found.sha256 else None
    except (OSError, ValueError, DocumentError):
        return None


def _placed(package: CondaPackage, channel: Path) -> CondaPackage:
    """The package as it is found once its channel is in place."""
    return replace(package, channel=channel.as_uri(), url=_file(package, channel).as_uri())


def _file(package: CondaPackage, channel: Path) -> Path:
    return channel / package.subdir / f"{package.dist}.conda"
