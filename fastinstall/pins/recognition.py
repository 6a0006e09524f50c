"""Find the project that an environment belongs to, whose manifest and lock a tool makes it from, and check its pin.

Checking means that everything the pin needs is still there. Without a pin it costs two stats and the attempt to read
one file.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastinstall.core import foreign
from fastinstall.core.errors import UsageError
from fastinstall.core.parsing import json_data
from fastinstall.journal.layout import PROJECT, RECEIPT
from fastinstall.model.facts import PinState, Project

if TYPE_CHECKING:
    from fastinstall.pins.tool import PinTool

_LONGEST_PATH, _LONGEST_NAME = 4000, 255
"""Bytes: PATH_MAX, with room for what is added, and NAME_MAX (path_resolution(7))."""

_PYPROJECT = "pyproject.toml"


def project_of(prefix: Path, named: Path | None = None) -> Project | None:
    """The project that an environment belongs to.

    That is the one named, else the one that holds the environment (`PROJECT/.venv`, `PROJECT/.pixi/envs/NAME`), else
    the one that the environment notes because it is pinned there, where that project says so too.

    Args:
        prefix: of the environment.
        named: the project's directory.

    Raises:
        UsageError: the one named has no manifest of a tool that we know, or a project has those of two.
        DocumentError: a manifest is not TOML.
    """
    if named is not None:
        project = _find_project(Path(os.path.normpath(named.absolute())))
        if project is None:
            raise _make_no_project_error(named)
        return project
    for directory in (find_project_directory(prefix), find_believed_project(prefix)):
        if directory is not None and (project := _find_project(directory)) is not None:
            return project
    return None


def find_project_directory(prefix: Path) -> Path | None:
    """The directory of the project that an environment lies in, by their places alone; None for any other place."""
    if prefix.parent.name == "envs" and prefix.parent.parent.name == ".pixi":
        return prefix.parent.parent.parent
    return prefix.parent if prefix.name in (".venv", "venv") else None


def read_noted_project(prefix: Path) -> Path | None:
    """Read which project directory an environment is pinned in, or return None if it names none."""
    try:
        text = foreign.read_text(prefix / PROJECT, errors="surrogateescape").strip()
    except OSError:
        return None
    return Path(text) if _is_path(text) else None


def _is_path(text: str) -> bool:
    """Whether the kernel takes it, so that asking for what is there raises nothing."""
    parts = os.fsencode(text).split(b"/")
    plain = text.startswith("/") and not {"\0", "\n"} & set(text)
    return plain and len(os.fsencode(text)) < _LONGEST_PATH and max(map(len, parts)) <= _LONGEST_NAME


def find_believed_project(prefix: Path) -> Path | None:
    """The directory that an environment notes, where a pin of this user's is there for this very environment.

    The note lies in the environment, and whoever made that may have written any directory into it.
    """
    noted = read_noted_project(prefix)
    if noted is None or not noted.is_absolute():
        return None
    from fastinstall.pins.project_files import is_pinned_for  # noqa: PLC0415 (only where something is pinned)

    return noted if is_pinned_for(noted, prefix) else None


def _make_no_project_error(named: Path) -> UsageError:
    from fastinstall.pins.tools import tools  # noqa: PLC0415 (as `_find_project`)

    names = _join_alternatives([tool.name for tool in tools()])
    commands = _join_alternatives([f"{tool.name} lock" for tool in tools() if tool.locking is not None])
    return UsageError(
        f"{named}: no project of {names}: it has neither their lock nor their table",
        hint=f"make its lock first ({named}/pyproject.toml): {commands}",
    )


def _join_alternatives(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _find_project(directory: Path) -> Project | None:
    if not directory.is_dir():
        return None
    from fastinstall.pins.tool import ProjectSign  # noqa: PLC0415 (only where something may be a project)
    from fastinstall.pins.tools import tools  # noqa: PLC0415 (likewise)

    known = tools()
    names = {name for tool in known for name in (*tool.manifests, tool.lock) if name}
    there = frozenset(name for name in names if (directory / name).is_file())
    known = tuple(tool for tool in known if there.intersection(tool.manifests))
    if not known:
        return None
    # A manifest of a tool's own decides by itself: then nothing else is read.
    own = [tool for tool in known if tool.sign(there, {}) is ProjectSign.MANIFEST]
    tables = {} if own or _PYPROJECT not in there else _read_tool_tables(directory / _PYPROJECT)
    signs = {tool.name: tool.sign(there, tables) for tool in known}
    strongest = max(signs.values())
    candidates = [tool for tool in known if strongest and signs[tool.name] is strongest]
    if len(candidates) > 1:
        first, second = candidates[:2]
        raise UsageError(
            f"{directory} is a project of {first.name} and of {second.name}: "
            f"{_explain_ambiguity(first, second, strongest)}",
            hint=f"take away what is left over of one of them in {directory}",
        )
    return _make_project(directory, candidates[0], there) if candidates else None


def _explain_ambiguity(first: "PinTool", second: "PinTool", sign: int) -> str:
    from fastinstall.pins.tool import ProjectSign  # noqa: PLC0415 (as `_find_project`)

    if sign == ProjectSign.LOCK:
        return f"{first.lock} and {second.lock} are both there"
    return f"{_PYPROJECT} has [tool.{first.name}] and [tool.{second.name}], and there is no lock"


def _make_project(directory: Path, tool: "PinTool", there: frozenset[str]) -> Project:
    return Project(
        directory=directory,
        manager=tool.name,
        manifest=directory / next(name for name in tool.manifests if name in there),
        lock=directory / tool.lock if tool.lock in there else None,
        sync=tool.sync,
    )


def _read_tool_tables(manifest: Path) -> dict[str, Any]:
    tool = foreign.read_toml(manifest).get("tool", {})
    return tool if isinstance(tool, dict) else {}


_RECORD = ".fastinstall/pin.json"


def observe_project_pin(prefix: Path) -> tuple[PinState, ...]:
    """The pin of the environment's project; empty if there is none."""
    directory = _find_directory(prefix)
    state = read_pin_state(directory, prefix) if directory is not None else None
    return (state,) if state is not None else ()


def read_pin_state(directory: Path, prefix: Path | None = None) -> PinState | None:
    """Read a project's pin and what is wrong with it, or return None if there is no pin.

    Args:
        directory: of the project.
        prefix: of the environment whose stack it should hold; None for the one on record.
    """
    record = _read_json(directory / _RECORD)
    if record is None:
        return None
    try:
        requirement, tool = str(record["requirement"]), _get_tool(record)
        manifest, *locks = _list_names(record, tool)
        place = prefix or directory / record["prefix"]
        problems = (
            *_describe_unfinished(record),
            *(f"{name} is gone" for name in record["payload"] if not (directory / name).is_file()),
            *_describe_missing_pin(directory / manifest, tool.format_pin_words(requirement), "names it"),
            *(
                problem
                for lock in locks
                for problem in _describe_missing_pin(directory / lock, _format_locked_version(requirement), "holds it")
            ),
            *_describe_other_build(place, requirement),
        )
    except (LookupError, TypeError, ValueError):
        return PinState(kind="uv", file=directory / _RECORD, requirement="", problems=(f"{_RECORD} cannot be read",))
    return PinState(kind=tool.name, file=directory / manifest, requirement=requirement, problems=problems)


def _find_directory(prefix: Path) -> Path | None:
    pixi = prefix.parent.name == "envs" and prefix.parent.parent.name == ".pixi"
    holding = prefix.parent.parent.parent if pixi else prefix.parent
    if (holding / _RECORD).is_file():
        return holding
    noted = read_noted_project(prefix)
    return noted if noted is not None and not _is_for_another(noted, prefix) else None


def _is_for_another(directory: Path, prefix: Path) -> bool:
    """Whether the pin of a project says that it is another environment's; a copy notes what the original did."""
    named = (_read_json(directory / _RECORD) or {}).get("prefix")
    return isinstance(named, str) and os.path.realpath(directory / named) != os.path.realpath(prefix)


def _get_tool(record: dict[str, Any]) -> "PinTool":
    from fastinstall.pins.tools import find_tool  # noqa: PLC0415 (only where something is pinned)

    tool = find_tool(str(record["manager"]))
    if tool is None:
        raise ValueError(record["manager"])
    return tool


def _list_names(record: dict[str, Any], tool: "PinTool") -> tuple[str, ...]:
    """Manifest and lock, which are those of its tool; a record may come from anybody."""
    names = tuple(str(file["name"]) for file in record["files"])
    if names[0] not in tool.manifests or names[1:] not in ((), *(((tool.lock,),) if tool.lock else ())):
        raise ValueError(names)
    return names


def _describe_unfinished(record: dict[str, Any]) -> tuple[str, ...]:
    return () if record["stage"] == "pinned" else (f"a change of it was cut short ({record['stage']})",)


def _describe_missing_pin(file: Path, words: str, what: str) -> tuple[str, ...]:
    try:
        text = foreign.read_text(file, errors="replace")
    except OSError:
        return (f"{file.name} is gone",)
    return () if words in text else (f"{file.name} no longer {what}",)


def _format_locked_version(requirement: str) -> str:
    return f'version = "{requirement.rpartition("==")[2]}"'


def _describe_other_build(prefix: Path, requirement: str) -> tuple[str, ...]:
    receipt = _read_json(prefix / RECEIPT)
    if receipt is None:
        return ()
    there = f"{receipt.get('distribution')}=={receipt.get('version')}"
    return () if there == requirement else (f"{there} is in place in {prefix}",)


def _read_json(file: Path) -> dict[str, Any] | None:
    try:
        content = json_data(foreign.read_bytes(file))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
