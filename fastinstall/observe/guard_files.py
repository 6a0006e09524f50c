"""Inspect, describe and stage the start-up guard's files in site-packages.

The guard's `state` file describes PIL as it was when the guard was installed, in lines that a start-up hook can split.
Paths in it are relative to site-packages, so the guard still works when an environment is moved or copied.

Staging writes the compiled guard into a staging directory; a transaction renames it into site-packages. The files
are copies from `hooks/`; only `state` is generated here. Nothing of the target is touched.
"""

import os
import re
import struct
from pathlib import Path

from fastinstall.core import files, foreign, process
from fastinstall.core.directories import hooks_directory
from fastinstall.elf.description import ImagingCore
from fastinstall.model.facts import OTHER_CORE, GuardState
from fastinstall.model.receipt import BuiltCore

STATE_FORMAT = "1"
VERSION_FILE = "PIL/_version.py"
PREFIX = "../../.."
"""Of an environment, relative to its `lib/pythonX.Y/site-packages`."""

_HEADER = """\
# Put here by fastinstall: PIL as installed. The guard compares it each time Python starts.
# Remove with: fastinstall guard remove --prefix PREFIX
"""


_STATE = re.compile(
    rf"{STATE_FORMAT}\ncore (?P<core>\S+) \d+ \d+ (?P<sha256>\S+)\nversion \S+ \d+ \d+\nstack \S+ \S+\nprefix \S+\n"
)


def render_state(tree: Path, core: BuiltCore, stack_version: str) -> str:
    """Return the text of the `state` file for the PIL in `tree` (site-packages, or a stage for it).

    Args:
        tree: the directory that contains PIL.
        core: Pillow's C extension; the warning names its SIMD kernels if it has some.
        stack_version: the version in `PIL/_version.py`.

    Raises:
        OSError: `PIL/_version.py` is missing.
    """
    version = (tree / VERSION_FILE).stat()
    return (
        f"{_HEADER}{STATE_FORMAT}\n"
        f"core {core.path} {core.size} {core.mtime_ns} {core.sha256}\n"
        f"version {VERSION_FILE} {version.st_size} {version.st_mtime_ns}\n"
        f"stack {stack_version} {'simd' if core.simd_symbols else 'plain'}\n"
        f"prefix {PREFIX}\n"
    )


def parse_state(text: str) -> tuple[str, str] | None:
    """Return the core of a `state` file and its hash, or None if this guard version cannot parse the file."""
    found = _STATE.fullmatch("".join(line for line in text.splitlines(keepends=True) if not line.startswith("#")))
    return (found["core"], found["sha256"]) if found is not None else None


GUARD_VERSION = "2"
"""The hook's version, the same as its own `VERSION`."""

GUARD_PACKAGE = "_fastinstall_guard"

GUARD_ENTRIES: tuple[str, ...] = (GUARD_PACKAGE, "fastinstall_guard.pth", "fastinstall_guard.start")
"""Top-level names in site-packages, in the order of installation. Remove them in reverse, so that no hook
ever names a missing package (Python 3.15 complains about that at each start, PEP 829)."""

GUARD_SOURCES: tuple[str, ...] = (
    f"{GUARD_PACKAGE}/__init__.py",
    f"{GUARD_PACKAGE}/telling.py",
    f"{GUARD_PACKAGE}/tree.py",
    *GUARD_ENTRIES[1:],
)
"""The files copied from `hooks/`, relative to site-packages."""

GUARD_STATE = f"{GUARD_PACKAGE}/state"

_COMPILE_SECONDS = 60.0


def stage_guard(stage: Path, state: str, python: Path) -> tuple[str, ...]:
    """Put the guard's files below `stage`, with bytecode for the interpreter that will run them.

    Args:
        stage: a directory on the target's filesystem.
        state: from `render_state`, for the guard to compare at each start.

    Returns:
        The top-level names below `stage`: `GUARD_ENTRIES`.

    Raises:
        CommandError: the target's interpreter could not compile the guard.
    """
    for name in GUARD_SOURCES:
        files.write_bytes(stage / name, foreign.read_bytes(hooks_directory() / name))
    files.write_text(stage / GUARD_STATE, state)
    # validated by the source's size and time, which a rename keeps; ignores SOURCE_DATE_EPOCH
    compiling = ("compileall", "-q", "-d", GUARD_PACKAGE, "--invalidation-mode", "timestamp", stage / GUARD_PACKAGE)
    process.run((python, "-I", "-S", "-m", *compiling), timeout=_COMPILE_SECONDS)
    return GUARD_ENTRIES


def observe_guard(site_packages: Path, core: ImagingCore | None) -> GuardState:
    """Compare the installed guard with the one that this fastinstall would install.

    Args:
        site_packages: the directory to look in.
        core: the installed C extension of Pillow, or None if there is none.
    """
    if not entries_present(site_packages):
        return GuardState(installed=False)
    said = re.search(rb'^VERSION = "([^"]+)"$', foreign.bytes_or_empty(site_packages / GUARD_SOURCES[0]), re.MULTILINE)
    version = said[1].decode("ascii", "replace") if said else ""
    if version not in ("", GUARD_VERSION):
        problem = f"the guard is outdated: version {version}, this fastinstall has {GUARD_VERSION}"
        return GuardState(installed=True, version=version, problems=(problem,))
    missing, altered, compiled = list[str](), list[str](), True
    for name in GUARD_SOURCES:
        file = site_packages / name
        if not file.is_file():
            missing.append(f"{name} is missing")
            continue
        if foreign.bytes_or_empty(file) != foreign.read_bytes(hooks_directory() / name):
            altered.append(f"{name} is altered")
        compiled = compiled and (file.suffix != ".py" or _is_compiled(file))
    bytecode = f"{GUARD_PACKAGE} is not compiled: Python takes about 2 ms longer to start"
    problems = (*missing, *altered, *(() if compiled else (bytecode,)), *_find_state_problems(site_packages, core))
    return GuardState(installed=True, version=version, problems=problems)


def entries_present(site_packages: Path) -> tuple[str, ...]:
    """Return the guard's top-level names that exist, in the order of `GUARD_ENTRIES`."""
    return tuple(name for name in GUARD_ENTRIES if os.path.lexists(site_packages / name))


def _find_state_problems(site_packages: Path, core: ImagingCore | None) -> tuple[str, ...]:
    file = site_packages / GUARD_STATE
    if not file.is_file():
        return (f"{GUARD_STATE} is missing",)
    state = parse_state(foreign.text_or_empty(file))
    if state is None:
        return (f"{GUARD_STATE} cannot be read",)
    described, sha256 = state
    if core is None:
        return (f"{GUARD_STATE}{OTHER_CORE}{described}, but Pillow's C extension is missing",)
    if sha256 != core.sha256:
        return (f"{GUARD_STATE}{OTHER_CORE}{described}, which has changed since",)
    return ()


def _is_compiled(module: Path) -> bool:
    """Return whether some interpreter's bytecode is valid for a module, by the header that PEP 552 describes."""
    status = module.stat()
    valid = struct.pack("<3I", 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    return any(
        foreign.bytes_or_empty(file)[4:16] == valid
        for file in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc")
    )
