"""The pin of the project that an environment belongs to, looked at: whether everything it needs is still there.

Where there is none it costs two stats and the attempt to read one file.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastinstall.journal.layout import RECEIPT
from fastinstall.model.parsing import json_data
from fastinstall.model.pins import PinState
from fastinstall.pins.recognition import noted_project
from fastinstall.system import foreign

if TYPE_CHECKING:
    from fastinstall.pins.tool import PinTool

_RECORD = ".fastinstall/pin.json"


def observe_project_pin(prefix: Path) -> tuple[PinState, ...]:
    """The pin of the environment's project; empty where there is none."""
    directory = _directory(prefix)
    state = pin_state(directory, prefix) if directory is not None else None
    return (state,) if state is not None else ()


def pin_state(directory: Path, prefix: Path | None = None) -> PinState | None:
    """Read a project's pin and what is wrong with it, or return None if there is no pin.

    Args:
        directory: of the project.
        prefix: of the environment whose stack it should hold; None for the one on record.
    """
    record = _json(directory / _RECORD)
    if record is None:
        return None
    try:
        requirement, tool = str(record["requirement"]), _tool(record)
        manifest, *locks = _names(record, tool)
        place = prefix or directory / record["prefix"]
        problems = (
            *_unfinished(record),
            *(f"{name} is gone" for name in record["payload"] if not (directory / name).is_file()),
            *_without(directory / manifest, tool.named_by(requirement), "names it"),
            *(problem for lock in locks for problem in _without(directory / lock, _locked(requirement), "holds it")),
            *_other_build(place, requirement),
        )
    except (LookupError, TypeError, ValueError):
        return PinState(kind="uv", file=directory / _RECORD, requirement="", problems=(f"{_RECORD} cannot be read",))
    return PinState(kind=tool.name, file=directory / manifest, requirement=requirement, problems=problems)


def _directory(prefix: Path) -> Path | None:
    pixi = prefix.parent.name == "envs" and prefix.parent.parent.name == ".pixi"
    holding = prefix.parent.parent.parent if pixi else prefix.parent
    if (holding / _RECORD).is_file():
        return holding
    noted = noted_project(prefix)
    return noted if noted is not None and not _is_for_another(noted, prefix) else None


def _is_for_another(directory: Path, prefix: Path) -> bool:
    """Whether the pin of a project says that it is another environment's; a copy notes what the original did."""
    named = (_json(directory / _RECORD) or {}).get("prefix")
    return isinstance(named, str) and os.path.realpath(directory / named) != os.path.realpath(prefix)


def _tool(record: dict[str, Any]) -> "PinTool":
    from fastinstall.pins.tools import tool_named  # noqa: PLC0415 (only where something is pinned)

    tool = tool_named(str(record["manager"]))
    if tool is None:
        raise ValueError(record["manager"])
    return tool


def _names(record: dict[str, Any], tool: "PinTool") -> tuple[str, ...]:
    """Manifest and lock, which are those of its tool; a record may come from anybody."""
    names = tuple(str(file["name"]) for file in record["files"])
    if names[0] not in tool.manifests or names[1:] not in ((), *(((tool.lock,),) if tool.lock else ())):
        raise ValueError(names)
    return names


def _unfinished(record: dict[str, Any]) -> tuple[str, ...]:
    return () if record["stage"] == "pinned" else (f"a change of it was cut short ({record['stage']})",)


def _without(file: Path, words: str, what: str) -> tuple[str, ...]:
    try:
        text = foreign.read_text(file, errors="replace")
    except OSError:
        return (f"{file.name} is gone",)
    return () if words in text else (f"{file.name} no longer {what}",)


def _locked(requirement: str) -> str:
    return f'version = "{requirement.rpartition("==")[2]}"'


def _other_build(prefix: Path, requirement: str) -> tuple[str, ...]:
    receipt = _json(prefix / RECEIPT)
    if receipt is None:
        return ()
    there = f"{receipt.get('distribution')}=={receipt.get('version')}"
    return () if there == requirement else (f"{there} is in place in {prefix}",)


def _json(file: Path) -> dict[str, Any] | None:
    try:
        content = json_data(foreign.read_bytes(file))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
