"""The C compiler that would build, and which flags it accepts: found out by giving them to it."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from fastinstall.errors import UsageError
from fastinstall.model.machine import Compiler
from fastinstall.system.files import temporary_directory
from fastinstall.system.process import CommandError, Completed, run
from fastinstall.system.surroundings import find_program

_USUAL = ("cc", "gcc", "clang")
_TIMEOUT = 20.0


def observe_compiler(flags: tuple[str, ...], variables: Mapping[str, str]) -> Compiler | None:
    """Find the compiler: CC, else the first of cc, gcc and clang on PATH. Returns None if there is none.

    Args:
        flags: which ones to try; those that begin with "-Wl," are tried on the linker.
        variables: environment variables, of which CC and PATH decide.

    Raises:
        UsageError: CC cannot be split into words.
    """
    command = _command(variables)
    if command is None:
        return None
    version = _run((*command, "--version"), variables)
    if version is None or version.exit_code != 0:
        return None
    return Compiler(
        command=command,
        version=version.stdout.partition("\n")[0].strip(),
        accepts=_accepted(command, tuple(dict.fromkeys(flags)), variables),
    )


def _command(variables: Mapping[str, str]) -> tuple[str, ...] | None:
    named = _words(variables.get("CC", ""))
    candidates = [named] if named else [[name] for name in _USUAL]
    found = (words for words in candidates if find_program(words[0], variables))
    return next((tuple(words) for words in found), None)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"CC={text}: {error}", hint="name a compiler and its first words: export CC=gcc") from None


def _accepted(command: tuple[str, ...], flags: tuple[str, ...], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The flags that are accepted: all at once where that works, else one by one."""
    with temporary_directory("probe") as scratch:
        compiling = tuple(flag for flag in flags if not flag.startswith("-Wl,"))
        linking = tuple(flag for flag in flags if flag.startswith("-Wl,"))
        front = (*command, "-Werror")
        accepted = {
            *_tried(compiling, lambda some: _succeeds((*front, *some, "-E", "-x", "c", "/dev/null"), variables)),
            *_tried(linking, lambda some: _succeeds(_link(command, some, scratch), variables)),
        }
    return tuple(flag for flag in flags if flag in accepted)


def _tried(flags: tuple[str, ...], accepts: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    if not flags or accepts(flags):
        return flags
    return tuple(flag for flag in flags if accepts((flag,)))


def _link(command: tuple[str, ...], flags: tuple[str, ...], scratch: Path) -> tuple[str, ...]:
    """Link an empty shared object; the linker only warns about a `-z` that it does not know."""
    return (*command, "-shared", "-nostdlib", *flags, "-x", "c", "/dev/null", "-o", str(scratch / "probe.so"))


def _succeeds(argv: tuple[str, ...], variables: Mapping[str, str]) -> bool:
    completed = _run(argv, variables)
    return completed is not None and completed.exit_code == 0 and "warning:" not in completed.stderr


def _run(argv: tuple[str, ...], variables: Mapping[str, str]) -> Completed | None:
    """Run a command in the C locale and return its output, or None if it cannot be started."""
    program = find_program(argv[0], variables) or argv[0]
    try:
        return run((program, *argv[1:]), environment={**variables, "LC_ALL": "C"}, timeout=_TIMEOUT, check=False)
    except CommandError:
        return None
