"""Which environment a process that runs already belongs to."""

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath

from fastinstall.errors import RefusedError, UndeterminedError
from fastinstall.model.environment import Environment
from fastinstall.model.process import LiveProcess
from fastinstall.probes.environment import locate
from fastinstall.rules.messages import quote
from fastinstall.rules.running import running_core
from fastinstall.system.surroundings import stranger_in

_INTERPRETER = re.compile(r"(python|pypy)[\d.]*t?")
_MARKS = ("pyvenv.cfg", "conda-meta")


def process_target(process: LiveProcess, variables: Mapping[str, str]) -> Environment:
    """The environment of the PIL that a process has mapped, or of its interpreter where it has mapped none.

    Args:
        process: what was seen of it.
        variables: the environment variables of the shell.

    Raises:
        UndeterminedError: it is no Python and has no PIL, it has a file system of its own (a container's), or what it
            ran from is gone.
        RefusedError: it runs in fastinstall's own environment; or root asks, and it is another user's.
    """
    if process.root != PurePath("/"):
        raise _in_container(process)
    tool_prefix = Path(sys.prefix)
    core = running_core(process.mapped)
    prefix = _prefix_of(core) if core is not None else None
    _refuse_stranger(process, prefix or Path(process.executable).parent.parent)
    if prefix is not None:
        return locate(_as_called(prefix, process.executable), None, variables, tool_prefix)
    if core is None and not _INTERPRETER.fullmatch(process.executable.name):
        raise UndeterminedError(
            f"process {process.pid} is no Python and has no PIL mapped: {_shown(process)}",
            hint="list the processes that have: grep -l PIL/_imaging /proc/[0-9]*/maps",
        )
    return locate(None, Path(process.executable), variables, tool_prefix)


def _refuse_stranger(process: LiveProcess, prefix: Path) -> None:
    """Whoever starts a process and waits for root to examine it would have code run as root."""
    stranger = stranger_in(prefix)
    if stranger:
        raise RefusedError(
            f"process {process.pid} runs in {prefix}, where {stranger} keeps files, and root runs no code of others",
            hint=f"as that user: sudo -u {quote(stranger)} fastinstall doctor --pid {process.pid}; or name the "
            f"environment, if its code may be run: fastinstall doctor --prefix {quote(prefix)}",
        )


def _prefix_of(core: PurePath) -> Path | None:
    """The nearest environment that a core lies in, moved aside or not; None where it is in none ("~/.local")."""
    return next((prefix for prefix in Path(core).parents if any((prefix / mark).exists() for mark in _MARKS)), None)


def _as_called(prefix: Path, executable: PurePath) -> Path:
    """A prefix by the name that the process was started by: the kernel's name for a file has no links in it."""
    called = Path(executable).parent.parent
    return called if called.exists() and called.resolve() == prefix.resolve() else prefix


def _in_container(process: LiveProcess) -> UndeterminedError:
    inside = f"nsenter --target {process.pid} --mount --root -- fastinstall doctor"
    return UndeterminedError(
        f"process {process.pid} has a file system of its own, as in a container: its files are not those of this one",
        hint=f"run fastinstall inside it, in its own environment: {inside}",
        details=(f"it runs {_shown(process)}",),
    )


def _shown(process: LiveProcess) -> str:
    return shlex.join(process.command) or str(process.executable)
