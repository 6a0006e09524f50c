"""Look at the guard in a site-packages directory: what of it is there, and whether it is as it should be."""

import os
import re
import struct
from pathlib import Path

from fastinstall.guard.install import GUARD_ENTRIES, GUARD_PACKAGE, GUARD_SOURCES, GUARD_STATE, GUARD_VERSION
from fastinstall.guard.state import parse_state
from fastinstall.model.core import Core
from fastinstall.model.facts import GuardState
from fastinstall.system import foreign
from fastinstall.system.resources import hooks_directory

_HOOK = GUARD_SOURCES[0]


def observe_guard(site_packages: Path, core: Core | None) -> GuardState:
    """Compare the guard in place with the one that this fastinstall would install.

    Args:
        site_packages: where the guard lies, if it does.
        core: the imaging core in place, or None if there is none.
    """
    if not entries_present(site_packages):
        return GuardState(installed=False)
    version = _version(_read(site_packages / _HOOK))
    if version not in ("", GUARD_VERSION):
        problem = f"the guard is outdated: version {version}, this fastinstall brings {GUARD_VERSION}"
        return GuardState(installed=True, version=version, problems=(problem,))
    problems = (
        *_source_problems(site_packages),
        *_bytecode_problems(site_packages),
        *_state_problems(site_packages, core),
    )
    return GuardState(installed=True, version=version, problems=problems)


def entries_present(site_packages: Path) -> tuple[str, ...]:
    """The guard's top-level names that are there, in the order of `GUARD_ENTRIES`."""
    return tuple(name for name in GUARD_ENTRIES if os.path.lexists(site_packages / name))


def _source_problems(site_packages: Path) -> tuple[str, ...]:
    missing = tuple(f"{name} is missing" for name in GUARD_SOURCES if not (site_packages / name).is_file())
    altered = (name for name in GUARD_SOURCES if (site_packages / name).is_file() and _is_altered(site_packages, name))
    return (*missing, *(f"{name} is altered" for name in altered))


def _is_altered(site_packages: Path, name: str) -> bool:
    return _read(site_packages / name) != foreign.read_bytes(hooks_directory() / name)


def _state_problems(site_packages: Path, core: Core | None) -> tuple[str, ...]:
    file = site_packages / GUARD_STATE
    if not file.is_file():
        return (f"{GUARD_STATE} is missing",)
    state = parse_state(_read(file).decode("utf-8", "replace"))
    if state is None:
        return (f"{GUARD_STATE} is not readable",)
    if core is None:
        return (f"{GUARD_STATE} describes {state.core}, and there is no imaging core",)
    if state.core_sha256 != core.sha256:
        return (f"{GUARD_STATE} describes another {state.core} than the one in place",)
    return ()


def _bytecode_problems(site_packages: Path) -> tuple[str, ...]:
    modules = (site_packages / name for name in GUARD_SOURCES if name.endswith(".py"))
    if all(_is_compiled(module) for module in modules if module.is_file()):
        return ()
    return (f"{GUARD_PACKAGE} is not compiled: each start of Python takes about 2 ms longer",)


def _is_compiled(module: Path) -> bool:
    """Whether some interpreter's bytecode is valid for a module, by the header that PEP 552 describes."""
    status = module.stat()
    valid = struct.pack("<3I", 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    return any(_read(file)[4:16] == valid for file in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc"))


def _version(hook: bytes) -> str:
    found = re.search(rb'^VERSION = "([^"]+)"$', hook, re.MULTILINE)
    return found[1].decode("ascii", "replace") if found else ""


def _read(file: Path) -> bytes:
    try:
        return foreign.read_bytes(file)
    except OSError:
        return b""
