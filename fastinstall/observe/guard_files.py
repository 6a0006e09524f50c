"""Inspect the start-up guard's files in site-packages, and write the text of its `state` file.

The `state` file describes PIL as it was when the guard was installed, in lines that the guard splits at blanks. Paths
in this file are relative to site-packages, so the guard still works after an environment was moved or copied. All
other files of the guard are copies from `hooks/`.
"""

import hashlib
import os
import re
import struct
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.directories import hooks_directory
from fastinstall.core.messages import PROGRAM
from fastinstall.elf.description import ImagingCore
from fastinstall.model.guards import OTHER_CORE, GuardState
from fastinstall.model.receipt import BuiltCore

STATE_FORMAT = "1"
VERSION_FILE = "PIL/_version.py"
PREFIX = "../../.."
"""Path from an environment's `lib/pythonX.Y/site-packages` to its prefix."""

_HEADER = """\
# Put here by fastinstall: PIL as installed. The guard compares it each time Python starts.
# Remove with: fastinstall guard remove --prefix PREFIX
# sha256 of the lines below: """
_LONGEST_PROGRAM = 1024


_STATE = re.compile(
    rf"program \S.*\n{STATE_FORMAT}\ncore (?P<core>\S+) \d+ \d+ (?P<sha256>\S+)\n"
    r"version \S+ \d+ \d+\nstack \S+ \S+\nprefix \S+\n"
)


def render_state(tree: Path, core: BuiltCore, stack_version: str, program: str = PROGRAM) -> str:
    """Return the text of the `state` file for the PIL in `tree` (site-packages or a staging directory).

    Args:
        tree: the directory that contains PIL.
        core: Pillow's C extension; if it has SIMD kernels, the guard's warning mentions them.
        stack_version: the version in `PIL/_version.py`.
        program: command that runs fastinstall, for the hint in the guard's warning. If the command no longer exists
            when the guard warns, the hint has plain `fastinstall` instead.

    Raises:
        OSError: `PIL/_version.py` is missing.
    """
    version = (tree / VERSION_FILE).stat()
    return _add_header(
        f"program {program if _fits_state(program) else PROGRAM}\n"
        f"{STATE_FORMAT}\n"
        f"core {core.path} {core.size} {core.mtime_ns} {core.sha256}\n"
        f"version {VERSION_FILE} {version.st_size} {version.st_mtime_ns}\n"
        f"stack {stack_version} {'simd' if core.simd_symbols else 'plain'}\n"
        f"prefix {PREFIX}\n"
    )


def _add_header(body: str) -> str:
    return f"{_HEADER}{hashlib.sha256(body.encode()).hexdigest()}\n{body}"


def _fits_state(program: str) -> bool:
    """Return whether a command is short, printable, and unchanged by splitting it at blanks and joining it again."""
    return len(program) <= _LONGEST_PROGRAM and program.isprintable() and program == " ".join(program.split())


def parse_state(text: str) -> tuple[str, str] | None:
    """Return the core's path and SHA-256 in a `state` file, or None if the text is not from `render_state`."""
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    found = _STATE.fullmatch(body)
    if found is None or text != _add_header(body):
        return None
    return found["core"], found["sha256"]


GUARD_VERSION = "3"
"""The guard's version, equal to `VERSION` in `hooks/_fastinstall_guard/__init__.py`."""

GUARD_PACKAGE = "_fastinstall_guard"

_LINE, _ENTRY_POINT = ("fastinstall_guard.pth",), ("_fastinstall_start.py", "fastinstall_guard.start")
"""Files that start the guard: before Python 3.18, a `.pth` file; from 3.18 on, two files for an entry point (PEP 829).

The `.pth` file costs no time. For an entry point, Python imports 29 more modules (11 ms of CPU time per start with
3.15.2).
"""
_FIRST_WITHOUT_LINES = (3, 18)

GUARD_ENTRIES: tuple[str, ...] = (GUARD_PACKAGE, *_LINE, *_ENTRY_POINT)
"""All entries of site-packages that a guard may have, in the order of installation. They must be removed in reverse
order, so that no hook ever names a missing package (Python 3.15 reports that at each start, PEP 829)."""

_PACKAGE_SOURCES = tuple(f"{GUARD_PACKAGE}/{name}.py" for name in ("__init__", "warning", "process_tree"))


def list_entries(version: str) -> tuple[str, ...]:
    """Return the entries in `GUARD_ENTRIES` that the guard for this version of Python consists of."""
    return (GUARD_PACKAGE, *_list_starters(version))


def list_sources(version: str) -> tuple[str, ...]:
    """Return the files that are copied from `hooks/` for this version of Python, relative to site-packages."""
    return (*_PACKAGE_SOURCES, *_list_starters(version))


def _list_starters(version: str) -> tuple[str, ...]:
    major, minor = map(int, version.split(".")[:2])
    return _LINE if (major, minor) < _FIRST_WITHOUT_LINES else _ENTRY_POINT


GUARD_STATE = f"{GUARD_PACKAGE}/state"


def observe_guard(site_packages: Path, version: str, core: ImagingCore | None) -> GuardState:
    """Return the state of the installed guard: differences from the guard that this fastinstall would install.

    Args:
        site_packages: site-packages of the environment.
        version: version of the environment's Python, such as "3.12.4".
        core: the installed C extension of Pillow, or None if there is none.
    """
    present = entries_present(site_packages)
    if not present:
        return GuardState(installed=False)
    hook = foreign.bytes_or_empty(site_packages / _PACKAGE_SOURCES[0])
    said = re.search(rb'^VERSION = "([^"]+)"$', hook, re.MULTILINE)
    installed = said[1].decode("ascii", "replace") if said else ""
    if installed not in ("", GUARD_VERSION):
        problem = f"the guard is outdated: version {installed}, this fastinstall has {GUARD_VERSION}"
        return GuardState(installed=True, version=installed, problems=(problem,))
    missing, altered, compiled = list[str](), list[str](), True
    for name in list_sources(version):
        file = site_packages / name
        if not file.is_file():
            missing.append(f"{name} is missing")
            continue
        if foreign.bytes_or_empty(file) != foreign.read_bytes(hooks_directory() / name):
            altered.append(f"{name} is altered")
        compiled = compiled and (name not in _PACKAGE_SOURCES or _is_compiled(file))
    bytecode = f"{GUARD_PACKAGE} is not compiled: Python takes about 2 ms longer to start"
    unused = [f"{name} is not for this Python" for name in present if name not in list_entries(version)]
    problems = (
        *missing,
        *altered,
        *unused,
        *(() if compiled else (bytecode,)),
        *_find_state_problems(site_packages, core),
    )
    return GuardState(installed=True, version=installed, problems=problems)


def entries_present(site_packages: Path) -> tuple[str, ...]:
    """Return the entries in `GUARD_ENTRIES` that exist in site-packages, in order."""
    return tuple(name for name in GUARD_ENTRIES if os.path.lexists(site_packages / name))


def _find_state_problems(site_packages: Path, core: ImagingCore | None) -> tuple[str, ...]:
    file = site_packages / GUARD_STATE
    if not file.is_file():
        return (f"{GUARD_STATE} is missing",)
    state = parse_state(foreign.text_or_empty(file))
    if state is None:
        return (f"{GUARD_STATE} is altered",)
    described, sha256 = state
    if core is None:
        return (f"{GUARD_STATE}{OTHER_CORE}{described}, but Pillow's C extension is missing",)
    if sha256 != core.sha256:
        return (f"{GUARD_STATE}{OTHER_CORE}{described}, which has changed since",)
    return ()


def _is_compiled(module: Path) -> bool:
    """Return whether a module has valid bytecode for any interpreter, judged by the bytecode's header (PEP 552)."""
    status = module.stat()
    valid = struct.pack("<3I", 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    return any(
        foreign.bytes_or_empty(file)[4:16] == valid
        for file in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc")
    )
