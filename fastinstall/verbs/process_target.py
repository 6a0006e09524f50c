"""Find the environment that a running process belongs to (`doctor --pid`); reads files and /proc only."""

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath

from fastinstall.core.errors import RefusedError, UndeterminedError
from fastinstall.core.foreign_code import find_stranger
from fastinstall.core.messages import quote
from fastinstall.model.facts import Environment, LiveProcess, running_core
from fastinstall.observe.active_environment import locate

_INTERPRETER = re.compile(r"(python|pypy)[\d.]*t?")


_MARKS = ("pyvenv.cfg", "conda-meta")


def process_target(process: LiveProcess, variables: Mapping[str, str]) -> Environment:
    """Return the environment of the PIL that a process has mapped, or of its interpreter where it has mapped none.

    Args:
        process: what was seen of it.
        variables: the environment variables of the shell.

    Raises:
        UndeterminedError: it is no Python and has no PIL, it has a file system of its own (a container's), or what it
            ran from is gone.
        RefusedError: it runs in fastinstall's own environment; or root asks, and it is another user's.

    Example:
        process = observe_process(4711)
        environment = process_target(process, session.variables)
        report = examine(session, environment, Examination(process=process))
    """
    if process.root != PurePath("/"):
        inside = f"nsenter --target {process.pid} --mount --root -- fastinstall doctor"
        raise UndeterminedError(
            f"process {process.pid} has its own file system, as in a container: its files are not here",
            hint=f"run fastinstall inside it: {inside}",
            details=(f"it runs {_format_process(process)}",),
        )
    core = running_core(process.mapped)
    # The nearest environment that a core lies in, moved aside or not; none for one in "~/.local".
    around = (each for each in Path(core or "/").parents if any((each / mark).exists() for mark in _MARKS))
    prefix, tool_prefix, called = next(around, None), Path(sys.prefix), Path(process.executable).parent.parent
    _refuse_stranger(process, prefix or called)
    if prefix is not None:
        # By the name that the process was started by: the kernel's name for a file has no links in it.
        is_linked = called.exists() and called.resolve() == prefix.resolve()
        return locate(called if is_linked else prefix, None, variables, tool_prefix)
    if core is None and not _INTERPRETER.fullmatch(process.executable.name):
        raise UndeterminedError(
            f"process {process.pid} is not Python and has not loaded PIL: {_format_process(process)}",
            hint="list the processes that have loaded it: grep -l PIL/_imaging /proc/[0-9]*/maps",
        )
    return locate(None, Path(process.executable), variables, tool_prefix)


def _refuse_stranger(process: LiveProcess, prefix: Path) -> None:
    """Refuse, as root, to run the code of whoever started a process and waits for it to be examined."""
    stranger = find_stranger(prefix)
    if stranger:
        raise RefusedError(
            f"process {process.pid} runs in {prefix}, where {stranger} owns files; root runs no code of other users",
            hint=f"run it as that user: sudo -u {quote(stranger)} fastinstall doctor --pid {process.pid}; "
            f"or trust the environment, and name it: fastinstall doctor --prefix {quote(prefix)}",
        )


def _format_process(process: LiveProcess) -> str:
    return shlex.join(process.command) or str(process.executable)
