"""Compiler flags: which ones to give, and whether a build log shows that they were obeyed. Pure."""

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from fastinstall.errors import RefusedError
from fastinstall.model.recipe import Level, Recipe
from fastinstall.rules.messages import listing

RECORD_SWITCHES = "-frecord-gcc-switches"  # the command line goes into the binary, for provenance
KERNEL_FILE = "Resample.c"  # where the flags of a level matter most

_OPTIMISED = ("-O2", "-O3")
_SUMMARY = re.compile(r"(---|\*\*\*) (.+?) support (?:not )?available(?: \((.*)\))?\s*$", re.MULTILINE)


def probed_flags(recipe: Recipe) -> tuple[str, ...]:
    """Every flag about which a compiler is to be asked before it is used."""
    flags = [RECORD_SWITCHES]
    for level in recipe.levels:
        flags += [*level.cflags, *level.fallback, *level.ldflags]
    return tuple(dict.fromkeys(flags))


def compile_flags(
    recipe: Recipe, level: Level, accepted: Collection[str], *, compiler: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The full CFLAGS and the LDFLAGS for a level.

    CFLAGS of the environment replace the interpreter's own (setuptools 75.7), so they are always full.

    Args:
        recipe: gives the base flags.
        level: gives its own flags, and what stands in for them with an older compiler.
        accepted: the probed flags that the compiler accepts.
        compiler: its version, for messages.

    Raises:
        RefusedError: the compiler knows neither the level's flags nor their fallback.
    """
    record = (RECORD_SWITCHES,) if RECORD_SWITCHES in accepted else ()
    ldflags = tuple(flag for flag in level.ldflags if flag in accepted)
    for flags in (level.cflags, level.fallback):
        if flags and all(flag in accepted for flag in flags):
            return (*recipe.base_cflags, *flags, *record), ldflags
    tried = " nor ".join(" ".join(flags) for flags in (level.cflags, level.fallback) if flags)
    who = f"the C compiler ({compiler})" if compiler else "the C compiler"
    raise RefusedError(
        f"{who} accepts neither {tried}" if level.fallback else f"{who} does not accept {tried}",
        hint=f"{level.name} cannot be built with it: install gcc 11 or clang 12 or later, or ask for a lower --level",
    )


def compiled_file(line: str) -> str | None:
    """Return the C file that a build log line compiles, or None if it compiles none."""
    words = _words(line)
    return _source(words) if words else None


def audit_compile_lines(lines: Iterable[str], cflags: Sequence[str]) -> tuple[str, ...]:
    """What is wrong with the compile lines of a build log; empty if nothing is.

    Args:
        lines: of the log; others than compile lines are passed over.
        cflags: the full CFLAGS that were given.
    """
    compiled = [(source, words) for words in map(_words, lines) if words and (source := _source(words))]
    if not compiled:
        return ("the log has no compile line, so the flags cannot be audited",)
    kernels = [words for source, words in compiled if PurePosixPath(source).name == KERNEL_FILE]
    problems = [_unoptimised(compiled), *(_not_given(flag, compiled) for flag in cflags)]
    problems += [f"{KERNEL_FILE} was not compiled"] if not kernels else []
    problems += [_overridden(words, cflags) for words in kernels]
    return tuple(problem for problem in problems if problem)


def parse_setup_summary(output: str) -> dict[str, str | None]:
    """Features of the PIL SETUP SUMMARY in a build log, by the name that stands there.

    Returns:
        The text in parentheses ("2.5.0") for a feature that is available, empty if it has none; None for
        one that is not.
    """
    return {name: extra if mark == "---" else None for mark, name, extra in _SUMMARY.findall(output)}


def _words(line: str) -> list[str]:
    if " -c " not in line:
        return []
    try:
        return shlex.split(line)
    except ValueError:  # a stray quote: no compile line, or one that only white space can split
        return line.split()


def _source(words: list[str]) -> str | None:
    following = dict(pairwise(words)).get("-c", "")
    return following if following.endswith(".c") else None


def _unoptimised(compiled: list[tuple[str, list[str]]]) -> str:
    slow = [(source, _last(words, "-O")) for source, words in compiled if _last(words, "-O") not in _OPTIMISED]
    if not slow:
        return ""
    return f"compiled without optimisation ({slow[0][1] or 'no -O flag'}): {_some([source for source, _ in slow])}"


def _not_given(flag: str, compiled: list[tuple[str, list[str]]]) -> str:
    files = [source for source, words in compiled if flag not in words]
    return f"{flag} did not reach the compiler: {_some(files)}" if files else ""


def _overridden(words: list[str], cflags: Sequence[str]) -> str:
    wanted, got = _last(cflags, "-march="), _last(words, "-march=")
    return f"{KERNEL_FILE}: {wanted} is overridden by {got}" if wanted and got and wanted != got else ""


def _last(words: Sequence[str], prefix: str) -> str:
    return next((word for word in reversed(words) if word.startswith(prefix)), "")


def _some(files: list[str]) -> str:
    shown = files[:3]
    return listing(shown) if len(files) <= len(shown) else f"{', '.join(shown)} and {len(files) - len(shown)} more"
