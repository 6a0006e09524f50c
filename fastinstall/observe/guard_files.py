"""The start-up guard's files in site-packages: what is there, whether it is intact, and how they are staged.

The guard's `state` file says what PIL looked like when the guard was installed, in lines that a start-up hook can
split. Paths in it are relative to site-packages, so that an environment can be moved or copied with its guard.

Staging writes the guard, compiled, into a staging directory; a transaction renames it into site-packages. The files
come from `hooks/` byte for byte; only `state` is made here. Nothing of the target is touched.
"""

import os
import re
import struct
from pathlib import Path

from fastinstall.core import files, foreign, process
from fastinstall.core.surroundings import hooks_directory
from fastinstall.elf.description import ImagingCore
from fastinstall.model.facts import GuardState
from fastinstall.model.receipt import BuiltCore

STATE_FORMAT = "1"
VERSION_FILE = "PIL/_version.py"
PREFIX = "../../.."
"""Of an environment, seen from its `lib/pythonX.Y/site-packages`."""

_HEADER = """\
# Put here by fastinstall: PIL as it was installed, compared by the guard at each start of Python.
# Remove with: fastinstall guard remove --prefix PREFIX
"""


_STATE = re.compile(
    rf"{STATE_FORMAT}\ncore (?P<core>\S+) \d+ \d+ (?P<sha256>\S+)\nversion \S+ \d+ \d+\nstack \S+ \S+\nprefix \S+\n"
)


def render_state(tree: Path, core: BuiltCore, stack_version: str) -> str:
    """The text of the `state` file for the PIL in `tree` (site-packages, or a stage that will be renamed into it).

    Args:
        tree: where PIL lies.
        core: the imaging core; whether it has SIMD kernels decides what the warning calls it.
        stack_version: what `PIL/_version.py` says.

    Raises:
        OSError: `PIL/_version.py` is not there.
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
    """The core of a `state` file and its hash, or None if this version of the guard does not understand the file."""
    found = _STATE.fullmatch("".join(line for line in text.splitlines(keepends=True) if not line.startswith("#")))
    return (found["core"], found["sha256"]) if found is not None else None


GUARD_VERSION = "2"
"""Of the hook; it says the same of itself, in `VERSION`."""

GUARD_PACKAGE = "_fastinstall_guard"

GUARD_ENTRIES: tuple[str, ...] = (GUARD_PACKAGE, "fastinstall_guard.pth", "fastinstall_guard.start")
"""Top-level names in site-packages, in the order of installation; remove them in reverse, so that no hook
ever names a package that is gone (Python 3.15 complains about that at each start, PEP 829)."""

GUARD_SOURCES: tuple[str, ...] = (
    f"{GUARD_PACKAGE}/__init__.py",
    f"{GUARD_PACKAGE}/telling.py",
    f"{GUARD_PACKAGE}/tree.py",
    *GUARD_ENTRIES[1:],
)
"""The files that are copied from `hooks/`, relative to site-packages."""

GUARD_STATE = f"{GUARD_PACKAGE}/state"

_COMPILE_SECONDS = 60.0


def stage_guard(stage: Path, state: str, python: Path) -> tuple[str, ...]:
    """Put the guard's files below `stage`, with bytecode for the interpreter that will run them.

    Args:
        stage: a directory on the target's filesystem.
        state: of `render_state`: what the guard will compare at each start.
        python: the target's interpreter.

    Returns:
        The top-level names below `stage`: `GUARD_ENTRIES`.

    Raises:
        CommandError: the target's interpreter could not compile the guard.
    """
    for name in GUARD_SOURCES:
        files.write_bytes(stage / name, foreign.read_bytes(hooks_directory() / name))
    files.write_text(stage / GUARD_STATE, state)
    # by size and time of the source, which a rename keeps, whatever SOURCE_DATE_EPOCH says
    compiling = ("compileall", "-q", "-d", GUARD_PACKAGE, "--invalidation-mode", "timestamp", stage / GUARD_PACKAGE)
    process.run((python, "-I", "-S", "-m", *compiling), timeout=_COMPILE_SECONDS)
    return GUARD_ENTRIES


def observe_guard(site_packages: Path, core: ImagingCore | None) -> GuardState:
    """Compare the guard in place with the one that this fastinstall would install.

    Args:
        site_packages: where the guard lies, if it does.
        core: the imaging core in place, or None if there is none.
    """
    if not entries_present(site_packages):
        return GuardState(installed=False)
    said = re.search(rb'^VERSION = "([^"]+)"$', foreign.bytes_or_empty(site_packages / GUARD_SOURCES[0]), re.MULTILINE)
    version = said[1].decode("ascii", "replace") if said else ""
    if version not in ("", GUARD_VERSION):
        problem = f"the guard is outdated: version {version}, this fastinstall brings {GUARD_VERSION}"
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
    bytecode = f"{GUARD_PACKAGE} is not compiled: each start of Python takes about 2 ms longer"
    problems = (*missing, *altered, *(() if compiled else (bytecode,)), *_find_state_problems(site_packages, core))
    return GuardState(installed=True, version=version, problems=problems)


def entries_present(site_packages: Path) -> tuple[str, ...]:
    """The guard's top-level names that are there, in the order of `GUARD_ENTRIES`."""
    return tuple(name for name in GUARD_ENTRIES if os.path.lexists(site_packages / name))


def _find_state_problems(site_packages: Path, core: ImagingCore | None) -> tuple[str, ...]:
    file = site_packages / GUARD_STATE
    if not file.is_file():
        return (f"{GUARD_STATE} is missing",)
    state = parse_state(foreign.text_or_empty(file))
    if state is None:
        return (f"{GUARD_STATE} is not readable",)
    described, sha256 = state
    if core is None:
        return (f"{GUARD_STATE} describes {described}, and there is no imaging core",)
    if sha256 != core.sha256:
        return (f"{GUARD_STATE} describes another {described} than the one in place",)
    return ()


def _is_compiled(module: Path) -> bool:
    """Whether some interpreter's bytecode is valid for a module, by the header that PEP 552 describes."""
    status = module.stat()
    valid = struct.pack("<3I", 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    return any(
        foreign.bytes_or_empty(file)[4:16] == valid
        for file in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc")
    )
