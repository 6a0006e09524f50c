"""What is on record of a project's pin, in `.fastinstall/pin.json`. A value."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import PurePath

from fastinstall.model.immutable import immutable
from fastinstall.pins.additions import Addition
from fastinstall.pins.tool import CHANNEL
from fastinstall.pins.tools import tool_named
from fastinstall.rules.pinned_build import WHEELS

HOME = ".fastinstall"
"""Where a pinned project keeps what is ours, relative to its directory."""

RECORD = ".fastinstall/pin.json"


class PinStage(StrEnum):
    """How far a pin is: written down before its files change, and after."""

    PINNING = "pinning"
    PINNED = "pinned"
    UNPINNING = "unpinning"


@immutable
class PinnedFile:
    """A file of the project that bears the pin.

    Attributes:
        name: relative to the project's directory.
        before: hexadecimal sha256 of what it was; empty where it was not there.
        after: hexadecimal sha256 of what it is with the pin.
    """

    name: str
    before: str
    after: str


@immutable
class PinRecord:
    """A pin of a project.

    Attributes:
        stage: how far it is.
        at: ISO 8601, UTC.
        tool_version: of fastinstall.
        prefix: of the environment whose stack it holds, as it was.
        manager: the name of the project's tool.
        requirement: what is pinned.
        payload: what lies beside it for the project's tool to find, with its hexadecimal sha256.
        files: the manifest, and then the lock.
        additions: what the manifest says more.
        pieces: what was inserted into it as it stands.
    """

    stage: PinStage
    at: str
    tool_version: str
    prefix: PurePath
    manager: str
    requirement: str
    payload: dict[str, str]
    files: tuple[PinnedFile, ...]
    additions: tuple[Addition, ...]
    pieces: tuple[str, ...]


def foreign_names(record: PinRecord) -> Iterator[tuple[str, str]]:
    """What a record names that no pin of ours touches, as dotted key and problem.

    A project may come from anybody, and its record with it: of the files beside it we write the manifest and the lock
    of its tool alone, and of the payload only what lies in our own directory there.
    """
    tool = tool_named(record.manager)
    if tool is None:
        yield "manager", f"{record.manager!r} is no tool whose projects are pinned"
        return
    for index, file in enumerate(record.files):
        if file.name not in (tool.manifests if index == 0 else filter(None, (tool.lock,))) or index > 1:
            yield f"files[{index}].name", f"{file.name!r} is neither manifest nor lock of {record.manager}"
    for name in record.payload:
        if not name.startswith((f"{WHEELS}/", f"{CHANNEL}/")) or ".." in PurePath(name).parts:
            yield "payload", f"{name!r} does not lie in {WHEELS} or {CHANNEL}"
