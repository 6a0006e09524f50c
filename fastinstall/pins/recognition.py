"""Find the project whose manifest and lock file make an environment, and check its pin.

The check looks whether everything that the pin needs still exists. Without a pin it costs two stats and a failed read.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.errors import UsageError
from fastinstall.core.parsing import json_data
from fastinstall.journal.layout import PROJECT, RECEIPT
from fastinstall.model.facts import PinState, Project

_LONGEST_PATH, _LONGEST_NAME = 4000, 255
"""Bytes: PATH_MAX, with room for what is added, and NAME_MAX (path_resolution(7))."""

_PYPROJECT = "pyproject.toml"


def project_of(prefix: Path, named: Path | None = None) -> Project | None:
    """Return the project that an environment belongs to.

    It is the named one, else the one that contains the environment (`PROJECT/.venv`, `PROJECT/.pixi/envs/NAME`), else
    the one that the environment notes as pinned, if that project confirms it.

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

    *names, last = tools()
    commands = " or ".join(f"{tool.name} lock" for tool in tools().values() if tool.locking is not None)
    return UsageError(
        f"{named}: not a project of {', '.join(names)} or {last}: it has none of their lock files or tables",
        hint=f"create its lock file first ({named}/pyproject.toml): {commands}",
    )


def _find_project(directory: Path) -> Project | None:
    from fastinstall.pins.tool import ProjectSign  # noqa: PLC0415 (only where something may be a project)
    from fastinstall.pins.tools import tools  # noqa: PLC0415 (likewise)

    names = {name for tool in tools().values() for name in (*tool.manifests, tool.lock) if name}
    there = frozenset(name for name in names if (directory / name).is_file())
    known = [tool for tool in tools().values() if there.intersection(tool.manifests)]
    # A manifest of a tool's own decides by itself: then nothing else is read.
    own = any(tool.sign(there, {}) is ProjectSign.MANIFEST for tool in known)
    tables = foreign.read_toml(directory / _PYPROJECT).get("tool", {}) if not own and _PYPROJECT in there else {}
    signs = {tool.name: tool.sign(there, tables if isinstance(tables, dict) else {}) for tool in known}
    strongest = max(signs.values(), default=ProjectSign.NONE)
    candidates = [tool for tool in known if strongest and signs[tool.name] is strongest]
    if not candidates:
        return None
    tool, *others = candidates
    if others:
        both = f"{_PYPROJECT} has [tool.{tool.name}] and [tool.{others[0].name}], and no lock file"
        if strongest is ProjectSign.LOCK:
            both = f"{tool.lock} and {others[0].lock} are both there"
        raise UsageError(
            f"{directory} is a project of {tool.name} and of {others[0].name}: {both}",
            hint=f"remove what is left of one of them in {directory}",
        )
    return Project(
        directory=directory,
        manager=tool.name,
        manifest=directory / next(name for name in tool.manifests if name in there),
        lock=directory / tool.lock if tool.lock in there else None,
        sync=tool.sync,
    )


_RECORD = ".fastinstall/pin.json"


def observe_project_pin(prefix: Path) -> tuple[PinState, ...]:
    """The pin of the environment's project; empty if there is none."""
    directory = find_project_directory(prefix) or prefix.parent
    if not (directory / _RECORD).is_file():
        noted = read_noted_project(prefix)
        if noted is None or _is_for_another(noted, prefix):
            return ()
        directory = noted
    state = read_pin_state(directory, prefix)
    return (state,) if state is not None else ()


def _is_for_another(directory: Path, prefix: Path) -> bool:
    """Whether the pin of a project says that it is another environment's; a copy notes what the original did."""
    named = (_read_json(directory / _RECORD) or {}).get("prefix")
    return isinstance(named, str) and os.path.realpath(directory / named) != os.path.realpath(prefix)


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
        requirement, places = str(record["requirement"]), _list_places(record)
        problems = (*_list_problems(directory, record, places), *_describe_other_build(directory, prefix, record))
    except (AttributeError, LookupError, TypeError, ValueError):
        return PinState(kind="uv", file=directory / _RECORD, requirement="", problems=(f"{_RECORD} cannot be read",))
    file = directory / next(iter(places))
    return PinState(kind=record["manager"], file=file, requirement=requirement, problems=problems)


def _list_places(record: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What manifest and lock have to say, by their names, which are those of its tool: it may come from anybody."""
    from fastinstall.pins.tools import tools  # noqa: PLC0415 (only where something is pinned)

    tool = tools()[record["manager"]]
    manifest, *locks = (file["name"] for file in record["files"])
    if manifest not in tool.manifests or locks not in ([], [tool.lock]):
        raise ValueError(manifest)
    version = record["requirement"].rpartition("==")[2]
    words = {manifest: ("names", tool.format_pin_words(record["requirement"]))}
    return words | dict.fromkeys(locks, ("holds", f'version = "{version}"'))


def _list_problems(directory: Path, record: dict[str, Any], places: dict[str, tuple[str, str]]) -> Iterator[str]:
    if record["stage"] != "pinned":
        yield f"a change of it was interrupted ({record['stage']})"
    yield from (f"{name} is gone" for name in record["payload"] if not (directory / name).is_file())
    for name, (verb, words) in places.items():
        try:
            if words not in foreign.read_text(directory / name, errors="replace"):
                yield f"{name} no longer {verb} it"
        except OSError:
            yield f"{name} is gone"


def _describe_other_build(directory: Path, prefix: Path | None, record: dict[str, Any]) -> Iterator[str]:
    place = prefix or directory / record["prefix"]
    receipt = _read_json(place / RECEIPT)
    there = f"{receipt.get('distribution')}=={receipt.get('version')}" if receipt is not None else ""
    if there not in ("", record["requirement"]):
        yield f"{place} has {there}"


def _read_json(file: Path) -> dict[str, Any] | None:
    try:
        content = json_data(foreign.read_bytes(file))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
