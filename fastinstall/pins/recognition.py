"""Find the project whose manifest and lock file make an environment, and check its pin.

A pin is found by what the manifest says, and one of an earlier fastinstall by its record. Without a pin this costs a
few stats, and a read of the manifest if the environment lies in a project.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.errors import FastinstallError, UsageError
from fastinstall.core.parsing import json_data
from fastinstall.journal.layout import PROJECT, RECEIPT
from fastinstall.model.pin_state import PinState, Project

_LONGEST_PATH, _LONGEST_NAME = 4000, 255
"""Bytes: PATH_MAX, with room for what is added, and NAME_MAX (path_resolution(7))."""

_PYPROJECT = "pyproject.toml"
_MANIFESTS = (_PYPROJECT, "pixi.toml", "hatch.toml")


def project_of(prefix: Path, named: Path | None = None) -> Project | None:
    """Return the project that an environment belongs to.

    It is the named one, else the one that contains the environment (`PROJECT/.venv`, `PROJECT/.pixi/envs/NAME`), else
    the one that an earlier fastinstall has noted in the environment as pinned, if that project confirms it.

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
    """Read which project an earlier fastinstall has pinned for an environment, or return None if it notes none."""
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
    """Return the directory that an environment notes, if a pin for this very environment is there.

    The note lies in the environment, and whoever made that may have written any directory into it.
    """
    noted = read_noted_project(prefix)
    if noted is None or not noted.is_absolute():
        return None
    from fastinstall.pins.earlier_pins import is_pinned_for  # noqa: PLC0415 (only where something is pinned)

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
_CHANNEL = ".fastinstall/channel"


def observe_project_pin(prefix: Path) -> tuple[PinState, ...]:
    """Return the pin of the environment's project; empty if there is none."""
    directory = find_project_directory(prefix) or prefix.parent
    if (directory / _RECORD).is_file():
        state = read_pin_state(directory, prefix)
    else:
        noted = read_noted_project(prefix)
        is_ours = noted is not None and not _is_for_another(noted, prefix)
        state = read_pin_state(noted, prefix) if noted is not None and is_ours else None
    state = state or read_manifest_pin(prefix)
    return (state,) if state is not None else ()


def read_manifest_pin(prefix: Path, named: Path | None = None) -> PinState | None:
    """Read from a project's manifest which of our builds it pins, or return None if it pins none.

    Args:
        prefix: of the environment whose stack it should be.
        named: the project's directory; None for the one that the environment lies in.
    """
    receipt, directory = _read_json(prefix / RECEIPT), named or find_project_directory(prefix)
    if receipt is None or directory is None or not any((directory / name).is_file() for name in _MANIFESTS):
        return None
    from fastinstall.pins.tools import tools  # noqa: PLC0415 (only where there is a project)

    try:
        project = project_of(prefix, named)
        text = foreign.text_or_empty(Path(project.manifest)) if project is not None else ""
    except FastinstallError:  # told where the project is to be pinned
        return None
    tool = tools()[project.manager] if project is not None else None
    pinned = tool.find_pinned(text) if tool is not None else ""
    if project is None or tool is None or not pinned:
        return None
    name, version = receipt.get("distribution"), receipt.get("version")
    asked = f"{name}=={pinned}" if "+" in pinned else f"{name} * {pinned}"
    problems = tuple(_find_manifest_problems(prefix, f"{name}=={version}", pinned, project.lock))
    return PinState(kind=tool.name, file=project.manifest, requirement=asked, problems=problems)


def _find_manifest_problems(prefix: Path, requirement: str, pinned: str, lock: PurePath | None) -> Iterator[str]:
    if "+" not in pinned:  # a build string, which holds to any version
        return
    if pinned != requirement.rpartition("==")[2]:
        yield f"{prefix} has {requirement}"
    if lock is not None and f'version = "{pinned}"' not in foreign.text_or_empty(Path(lock)):
        yield f"{lock.name} does not hold it"


def _is_for_another(directory: Path, prefix: Path) -> bool:
    """Whether the pin of a project says that it is another environment's; a copy notes what the original did."""
    named = (_read_json(directory / _RECORD) or {}).get("prefix")
    return isinstance(named, str) and os.path.realpath(directory / named) != os.path.realpath(prefix)


def read_pin_state(directory: Path, prefix: Path | None = None) -> PinState | None:
    """Read the pin that an earlier fastinstall wrote, and what is wrong with it, or return None if there is none.

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
    words = {manifest: ("names", _CHANNEL if tool.takes_packages else version)}
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
