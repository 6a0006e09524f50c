"""What the log of a build shows: the compiled files, whether the flags took effect, and the features."""

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from fastinstall.core.messages import listing

KERNEL_FILE = "Resample.c"  # the file where the flags of a level matter most
_OPTIMISED = ("-O2", "-O3")
_SUMMARY = re.compile(r"(---|\*\*\*) (.+?) support (?:not )?available(?: \((.*)\))?\s*$", re.MULTILINE)


def parse_compiled_file(line: str) -> str | None:
    """Return the C file that a build log line compiles, or None if it compiles none."""
    following = dict(pairwise(_split_flags(line))).get("-c", "")
    return following if following.endswith(".c") else None


def audit_compile_lines(lines: Iterable[str], cflags: Sequence[str]) -> tuple[str, ...]:
    """Return problems of the compile lines of a build log; empty if there are none.

    Args:
        lines: of the log; lines that compile nothing are skipped.
        cflags: the full CFLAGS of the build.
    """
    compiled = [(source, _split_flags(line)) for line in lines if (source := parse_compiled_file(line))]
    if not compiled:
        return ("cannot audit the flags: the log has no compile line",)
    kernels = [words for source, words in compiled if PurePosixPath(source).name == KERNEL_FILE]
    problems = []
    levels = [(source, _find_last_word(words, "-O")) for source, words in compiled]
    slow = [(source, level) for source, level in levels if level not in _OPTIMISED]
    if slow:
        files = _list_some_files([source for source, _ in slow])
        problems.append(f"compiled without optimisation ({slow[0][1] or 'no -O flag'}): {files}")
    for flag in cflags:
        files = _list_some_files([source for source, words in compiled if flag not in words])
        problems += [f"{flag} did not reach the compiler: {files}"] if files else []
    problems += [f"{KERNEL_FILE} was not compiled"] if not kernels else []
    wanted = _find_last_word(cflags, "-march=")
    for words in kernels:
        got = _find_last_word(words, "-march=")
        if wanted and got and wanted != got:
            problems.append(f"{KERNEL_FILE}: {wanted} is overridden by {got}")
    return tuple(problems)


def parse_setup_summary(output: str) -> dict[str, str | None]:
    """Return features of the PIL SETUP SUMMARY in a build log, by their names there.

    Returns:
        The text in parentheses ("2.5.0") for an available feature, empty if it has none; None for
        an unavailable feature.
    """
    return {name: extra if mark == "---" else None for mark, name, extra in _SUMMARY.findall(output)}


def _split_flags(line: str) -> list[str]:
    if " -c " not in line:
        return []
    try:
        return shlex.split(line)
    except ValueError:  # a stray quote: not a compile line, or one to split only at white space
        return line.split()


def _find_last_word(words: Sequence[str], prefix: str) -> str:
    return next((word for word in reversed(words) if word.startswith(prefix)), "")


def _list_some_files(files: list[str]) -> str:
    shown = files[:3]
    return listing(shown) if len(files) <= len(shown) else f"{', '.join(shown)} and {len(files) - len(shown)} more"
