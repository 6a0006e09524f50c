"""The C compiler of this machine (the one that CC names, or one with a usual name), and the flags that it accepts."""

import shlex
from collections.abc import Mapping
from contextlib import suppress

from fastinstall.compilers.compiler import CompilerSource
from fastinstall.core.errors import FailedError, UsageError
from fastinstall.core.process import CommandError, Completed, run
from fastinstall.core.surroundings import find_program
from fastinstall.core.temporary_directories import temporary_directory
from fastinstall.model.machine import Compiler
from fastinstall.model.request import ToolchainSource


class SystemCompiler(CompilerSource):
    """The compiler of this machine. If it is missing, no other compiler is downloaded."""

    word = ToolchainSource.SYSTEM
    choice = "only the compiler of the system"
    is_exclusive = True


COMPILER = SystemCompiler()

_USUAL = ("cc", "gcc", "clang")
_TIMEOUT = 20.0


def observe_compiler(flags: tuple[str, ...], variables: Mapping[str, str]) -> Compiler | None:
    """Return the compiler that CC names, else the first of cc, gcc and clang on PATH; None if there is none that works.

    Args:
        flags: flags to try; those that start with "-Wl," are tried on the linker.
        variables: environment variables; CC and PATH are read.

    Raises:
        UsageError: CC cannot be split into words.
    """
    try:
        named = shlex.split(variables.get("CC", ""))
    except ValueError as error:
        problem = f"CC={variables['CC']}: {error}"
        raise UsageError(problem, hint="set CC to a compiler and its options: export CC=gcc") from None
    candidates = [tuple(named)] if named else [(name,) for name in _USUAL]
    command = next((words for words in candidates if find_program(words[0], variables)), None)
    version = _run((*command, "--version"), variables) if command is not None else None
    if command is None or version is None or version.exit_code != 0:
        return None
    return Compiler(
        command=command,
        version=version.stdout.partition("\n")[0].strip(),
        accepts=_select_accepted_flags(command, tuple(dict.fromkeys(flags)), variables),
    )


def _select_accepted_flags(
    command: tuple[str, ...], flags: tuple[str, ...], variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the flags that the compiler or its linker accepts: try all at once and, if that fails, one by one.

    A flag that causes a warning counts as not accepted, because the linker only warns of an unknown `-z`.
    """

    def accepts(front: tuple[str, ...], some: tuple[str, ...], back: tuple[str, ...]) -> bool:
        completed = _run((*command, *front, *some, *back), variables)
        return completed is not None and completed.exit_code == 0 and "warning:" not in completed.stderr

    def select(tried: tuple[str, ...], front: tuple[str, ...], back: tuple[str, ...]) -> tuple[str, ...]:
        if not tried or accepts(front, tried, back):
            return tried
        return tuple(flag for flag in tried if accepts(front, (flag,), back))

    linked = tuple(flag for flag in flags if flag.startswith("-Wl,"))
    compiled = tuple(flag for flag in flags if flag not in linked)
    accepted = {*select(compiled, ("-Werror",), ("-E", "-x", "c", "/dev/null"))}
    # Without a temporary directory, no linker flags are accepted.
    with suppress(FailedError), temporary_directory("probe") as scratch:
        back = ("-x", "c", "/dev/null", "-o", str(scratch / "probe.so"))
        accepted.update(select(linked, ("-shared", "-nostdlib"), back))
    return tuple(flag for flag in flags if flag in accepted)


def _run(argv: tuple[str, ...], variables: Mapping[str, str]) -> Completed | None:
    """Run a command in the C locale and return its output, or None if it cannot be started."""
    program = find_program(argv[0], variables) or argv[0]
    try:
        return run(
            (program, *argv[1:]),
            environment={**variables, "LC_ALL": "C"},
            timeout=_TIMEOUT,
            while_working=True,
            check=False,
        )
    except CommandError:
        return None
