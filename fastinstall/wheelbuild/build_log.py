"""Read the output of a build: audit its compiler flags, list its features, and explain a failure.

A failure is explained if the output shows its cause: a missing header, no compiler, no network, a full disk.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import ENOSPC
from itertools import pairwise
from pathlib import Path, PurePosixPath

from fastinstall.core import refused_writes
from fastinstall.core.errors import FailedError, UnprovenError
from fastinstall.core.messages import listing, quote
from fastinstall.core.process import Completed
from fastinstall.core.refused_writes import advise_on_cache
from fastinstall.model.recipe import BuildNeeds, NativeRequirement
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers import explain_packages, missing_python_headers

_KERNEL_FILE = "Resample.c"  # the file that benefits most from a level's flags
_OPTIMISED = ("-O2", "-O3")
_SHOWN = 3
_SUMMARY = re.compile(r"(---|\*\*\*) (.+?) support (?:not )?available(?: \((.*)\))?\s*$", re.MULTILINE)
_LAST_LINES = 15
_REFUSED = re.compile(r"\s*((src/[\w./-]+\.[ch]):\d+(?::\d+)?: (?:fatal )?error: .*)")
_INCLUDED = re.compile(r"\s*(In file included )?from (src/[\w./-]+):\d+")


def explain(request: BuildRequest, completed: Completed, log: Path) -> FailedError:
    """Return the error for a failed build, with the end of its output and the path of its log.

    Args:
        completed: the result of the failed command, with both streams in `stdout`.
        log: the file with the complete output.
    """
    cause = next(_find_causes(request, completed.stdout, log), None)
    lines = [line for line in completed.stdout.splitlines() if line.strip()]
    details = (*lines[-_LAST_LINES:], f"log: {log}")
    if cause is not None:
        return FailedError(f"the build failed: {cause[0]}", hint=cause[1], details=details)
    refused = _list_refusals(completed.stdout)
    if request.recipe.kernels and refused:
        version = request.step.source.version if request.step.source is not None else request.step.version
        files = tuple(dict.fromkeys(file for named in refused.values() for file in named))
        details = (*tuple(refused)[:_LAST_LINES], f"log: {log}")
        message = f"{version} with our kernels does not compile: {listing(files)}"
        return UnprovenError(message, version=version, files=files, details=details)
    hint = f"read the log: less {quote(log)}"
    return FailedError(f"the build failed ({completed.ending})", hint=hint, details=details)


def _list_refusals(output: str) -> dict[str, tuple[str, ...]]:
    """Map each compiler error in Pillow's source to the files involved.

    These are the files that include the faulty file, and then the faulty file itself. GCC and clang name the including
    files only before the first error in a header, so they are remembered for the header's further errors.
    """
    found: dict[str, tuple[str, ...]] = {}
    including: tuple[str, ...] = ()
    for line in output.splitlines():
        if included := _INCLUDED.match(line):
            including = (included[2],) if included[1] else (*including, included[2])
        elif refused := _REFUSED.match(line):
            including = including if refused[2].endswith(".h") else ()
            found[refused[1]] = (*reversed(including), refused[2])
    return found


def _find_causes(request: BuildRequest, output: str, log: Path) -> Iterator[tuple[str, str]]:
    """Yield a message and a remedy for each cause of the failure that the output shows."""
    if "No space left on device" in output:
        full = OSError(ENOSPC, os.strerror(ENOSPC))
        yield refused_writes.reason(full, request.cache), advise_on_cache(full, request.cache)
    if match := re.search(r"unrecognized command[- ]line option \W?(-[\w=.+-]+)", output):
        yield f"the C compiler does not know {match[1]}", _OTHER_COMPILER
    if match := re.search(r"bad value \S+ for \W?(-m[\w=.+-]+)", output):
        yield f"the C compiler does not know {match[1]}", _OTHER_COMPILER
    if re.search(r"Killed signal terminated program cc1|cannot allocate memory|out of memory allocating", output):
        jobs = max(1, request.step.jobs // 2)
        yield "the compiler was killed, probably for lack of memory", f"run again with --jobs {jobs}"
    if re.search(
        r"error: command '[^']*' failed: No such file or directory|error: \[Errno 2\].*'(?:cc|gcc|clang)", output
    ):
        command = " ".join(request.compiler.command)
        yield f"the C compiler ({command}) cannot run", explain_packages(request, BuildNeeds(compiler=True))
    if re.search(r"fatal error: '?Python\.h'?", output):
        error = missing_python_headers(request)
        yield error.message, error.hint or ""
    for pattern, message, is_meant in _LIBRARIES:
        if match := re.search(pattern, output):
            name = next(filter(None, match.groups()))
            if libraries := {key: each for key, each in request.recipe.libraries.items() if is_meant(each, name)}:
                # Installing system packages does not help if fastinstall itself supplied the library or its headers.
                supplied = request.header_packages or libraries.keys() & request.statics.keys()
                needs = BuildNeeds(libraries=tuple(libraries.values()))
                hint = f"read the log: less {quote(log)}" if supplied else explain_packages(request, needs)
                yield message.format(name), hint


_OTHER_COMPILER = "choose a lower --level, or install a later gcc"

_LIBRARIES: tuple[tuple[str, str, Callable[[NativeRequirement, str], bool]], ...] = (
    (
        r"headers or library files could not be found for (\w+)|DependencyException: (\w+)",
        "cannot find the headers or the library of {}",
        lambda library, name: library.option == name,
    ),
    (
        r"fatal error: '?([\w./-]+\.h)'?",
        "C header {} is missing",
        lambda library, name: Path(library.header).name == Path(name).name,
    ),
    (r"ld(?:\.\w+)?: cannot find -l(\w+)", "the linker cannot find lib{}", lambda library, name: library.link == name),
)
"""Signs of a missing library: a pattern, a message for the name that the pattern captures, and a function that says
whether a library of the recipe has this name."""


def parse_compiled_file(line: str) -> str | None:
    """Return the C file that a line of a build log compiles, or None if it compiles none."""
    following = dict(pairwise(_split_flags(line))).get("-c", "")
    return following if following.endswith(".c") else None


def audit_compile_lines(lines: Iterable[str], cflags: Sequence[str]) -> tuple[str, ...]:
    """Return problems with the compiler flags in a build log; empty if there are none.

    Args:
        lines: lines of the log; lines that compile nothing are skipped.
        cflags: the full CFLAGS of the build.
    """
    compiled = [(source, _split_flags(line)) for line in lines if (source := parse_compiled_file(line))]
    if not compiled:
        return ("cannot audit the flags: the log has no compile line",)
    kernels = [words for source, words in compiled if PurePosixPath(source).name == _KERNEL_FILE]
    problems = []
    levels = [(source, _find_last_word(words, "-O")) for source, words in compiled]
    slow = [(source, level) for source, level in levels if level not in _OPTIMISED]
    if slow:
        files = listing((source for source, _ in slow), _SHOWN)
        problems.append(f"compiled without optimisation ({slow[0][1] or 'no -O flag'}): {files}")
    for flag in cflags:
        files = listing((source for source, words in compiled if flag not in words), _SHOWN)
        problems += [f"{flag} did not reach the compiler: {files}"] if files else []
    problems += [f"{_KERNEL_FILE} was not compiled"] if not kernels else []
    wanted = _find_last_word(cflags, "-march=")
    for words in kernels:
        got = _find_last_word(words, "-march=")
        if wanted and got and wanted != got:
            problems.append(f"{_KERNEL_FILE}: {wanted} is overridden by {got}")
    return tuple(problems)


def parse_setup_summary(output: str) -> dict[str, str | None]:
    """Return the features in a build log's PIL SETUP SUMMARY, by the names that the summary gives them.

    Returns:
        For an available feature, the text in parentheses after it ("2.5.0"), or "" if there is none. For an unavailable
        feature, None.
    """
    return {name: extra if mark == "---" else None for mark, name, extra in _SUMMARY.findall(output)}


def _split_flags(line: str) -> list[str]:
    if " -c " not in line:
        return []
    try:
        return shlex.split(line)
    except ValueError:  # the line has an unbalanced quote
        return line.split()


def _find_last_word(words: Sequence[str], prefix: str) -> str:
    return next((word for word in reversed(words) if word.startswith(prefix)), "")
