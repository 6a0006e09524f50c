"""Write the start-up guard into a staging directory, compiled; a transaction renames it into site-packages.

The files come from `hooks/` byte for byte; only `state` is made here. Nothing of the target is touched.
"""

from pathlib import Path

from fastinstall.guard.state import GuardTarget, guard_target, render_state
from fastinstall.system import files, foreign, process
from fastinstall.system.resources import hooks_directory

__all__ = [
    "GUARD_ENTRIES",
    "GUARD_PACKAGE",
    "GUARD_SOURCES",
    "GUARD_STATE",
    "GUARD_VERSION",
    "GuardTarget",
    "guard_target",
    "stage_guard",
]

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


def stage_guard(stage: Path, target: GuardTarget, python: Path) -> tuple[str, ...]:
    """Put the guard's files below `stage`, with bytecode for the interpreter that will run them.

    Args:
        stage: a directory on the target's filesystem.
        target: what the guard will compare at each start.
        python: the target's interpreter.

    Returns:
        The top-level names below `stage`: `GUARD_ENTRIES`.

    Raises:
        CommandError: the target's interpreter could not compile the guard.
    """
    for name in GUARD_SOURCES:
        files.write_bytes(stage / name, foreign.read_bytes(hooks_directory() / name))
    files.write_text(stage / GUARD_STATE, render_state(target))
    _compile(stage / GUARD_PACKAGE, python)
    return GUARD_ENTRIES


def _compile(package: Path, python: Path) -> None:
    """Compile by size and time of the source, which a rename keeps, whatever SOURCE_DATE_EPOCH says."""
    process.run(
        (python, "-I", "-S", "-m", "compileall", "-q", "-d", package.name, "--invalidation-mode", "timestamp", package),
        timeout=_COMPILE_SECONDS,
    )
