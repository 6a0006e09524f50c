"""Say why a build failed, where its output tells: a missing header, no compiler, no network, a full disk."""

import re
from collections.abc import Callable
from pathlib import Path

from fastinstall.core.errors import FailedError, UnprovenError
from fastinstall.core.messages import listing, quote
from fastinstall.core.process import Completed
from fastinstall.model.recipe import NativeRequirement
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.linking import missing_python_headers, package_hint

_LAST_LINES = 15
_REFUSED = re.compile(r"^\s*((src/[\w./-]+\.[ch]):\d+(?::\d+)?: (?:fatal )?error: .*)$", re.MULTILINE)  # pip indents
_Cause = Callable[[BuildRequest, re.Match[str]], FailedError | None]


def explain(request: BuildRequest, completed: Completed, log: Path) -> FailedError:
    """The error to raise for a failed build, with the end of its output and the path of its log.

    Args:
        request: the build.
        completed: the command that failed, both streams joined in `stdout`.
        log: the file that holds all of it.
    """
    cause = _find_cause(request, completed.stdout)
    lines = [line for line in completed.stdout.splitlines() if line.strip()]
    details = (*lines[-_LAST_LINES:], f"log: {log}")
    if cause is not None:
        return FailedError(f"the build failed: {cause.message}", hint=cause.hint, details=details)
    refused = dict(_REFUSED.findall(completed.stdout))
    if request.kernels is not None and refused:
        return _explain_refused_merge(request, refused, log)
    ending = f"killed by {completed.signal_name}" if completed.signal_name else f"exit code {completed.exit_code}"
    return FailedError(f"the build failed ({ending})", hint=f"read the whole log: less {quote(log)}", details=details)


def _explain_refused_merge(request: BuildRequest, refused: dict[str, str], log: Path) -> UnprovenError:
    """What the compiler does not take of a merged source; `refused` has its messages and their files."""
    version = request.step.source.version if request.step.source is not None else request.step.version
    files = tuple(dict.fromkeys(refused.values()))
    details = (*tuple(refused)[:_LAST_LINES], f"log: {log}")
    message = f"the merged source of {version} does not compile: {listing(files)}"
    return UnprovenError(message, version=version, files=files, details=details)


def _find_cause(request: BuildRequest, output: str) -> FailedError | None:
    for pattern, cause in _CAUSES:
        match = re.search(pattern, output, re.MULTILINE)
        error = cause(request, match) if match else None
        if error is not None:
            return error
    return None


def _explain_full_disk(request: BuildRequest, _match: re.Match[str]) -> FailedError:
    where = request.cache
    return FailedError(f"no space left on the device of {where}", hint="FASTINSTALL_CACHE_DIR=DIR moves the cache")


def _explain_missing_python_headers(request: BuildRequest, _match: re.Match[str]) -> FailedError:
    return missing_python_headers(request)


def _explain_missing_library(request: BuildRequest, match: re.Match[str]) -> FailedError | None:
    libraries = _select_requirements(request, lambda library: library.option == match[1])
    if not libraries:
        return None
    return FailedError(f"headers or library of {match[1]} were not found", hint=package_hint(libraries))


def _explain_missing_header(request: BuildRequest, match: re.Match[str]) -> FailedError | None:
    name = Path(match[1]).name
    libraries = _select_requirements(request, lambda library: Path(library.header).name == name)
    if not libraries:
        return None
    return FailedError(f"C header {match[1]} is missing", hint=package_hint(libraries))


def _explain_linker_failure(request: BuildRequest, match: re.Match[str]) -> FailedError | None:
    libraries = _select_requirements(request, lambda library: library.link == match[1])
    if not libraries:
        return None
    return FailedError(f"the linker does not find lib{match[1]}", hint=package_hint(libraries))


def _explain_missing_compiler(request: BuildRequest, _match: re.Match[str]) -> FailedError:
    command = " ".join(request.compiler.command)
    hint = "apt-get install gcc libc6-dev, or dnf install gcc"
    return FailedError(f"the C compiler ({command}) cannot be run", hint=hint)


def _explain_unknown_flag(_request: BuildRequest, match: re.Match[str]) -> FailedError:
    hint = "ask for a lower --level, or install a later gcc"
    return FailedError(f"the C compiler does not know {match[1]}", hint=hint)


def _explain_lack_of_memory(request: BuildRequest, _match: re.Match[str]) -> FailedError:
    jobs = max(1, request.step.jobs // 2)
    return FailedError("the compiler was killed, probably for memory", hint=f"run again with --jobs {jobs}")


def _explain_missing_requirements(request: BuildRequest, match: re.Match[str]) -> FailedError:
    said = match[0].strip()
    if request.offline:
        hint = _hint_at_wheelhouse(request)
        return FailedError(f"the build's own requirements are not in the wheelhouse: {said}", hint=hint)
    hint = "check the network and pip's index settings, or bring them in a --wheelhouse"
    return FailedError(f"the build's own requirements could not be fetched: {said}", hint=hint)


def _hint_at_wheelhouse(request: BuildRequest) -> str:
    directory = quote(request.wheelhouse or "DIR")
    python = quote(request.interpreter.executable)
    return f"with a network: {python} -m pip download -d {directory} setuptools pybind11, then --wheelhouse {directory}"


def _select_requirements(
    request: BuildRequest, fits: Callable[[NativeRequirement], bool]
) -> tuple[NativeRequirement, ...]:
    return tuple(library for library in request.recipe.libraries.values() if fits(library))


_CAUSES: tuple[tuple[str, _Cause], ...] = (
    (r"No space left on device", _explain_full_disk),
    (r"fatal error: '?Python\.h'?", _explain_missing_python_headers),
    (r"headers or library files could not be found for (\w+)", _explain_missing_library),
    (r"DependencyException: (\w+)", _explain_missing_library),
    (r"fatal error: '?([\w./-]+\.h)'?", _explain_missing_header),
    (r"ld(?:\.\w+)?: cannot find -l(\w+)", _explain_linker_failure),
    (r"unrecognized command[- ]line option \W?(-[\w=.+-]+)", _explain_unknown_flag),
    (r"bad value \S+ for \W?(-m[\w=.+-]+)", _explain_unknown_flag),
    (r"Killed signal terminated program cc1|cannot allocate memory|out of memory allocating", _explain_lack_of_memory),
    (
        r"error: command '[^']*' failed: No such file or directory|error: \[Errno 2\].*'(?:cc|gcc|clang)",
        _explain_missing_compiler,
    ),
    (r"^.*No matching distribution found for .*$", _explain_missing_requirements),
    (r"^.*Could not find a version that satisfies.*$", _explain_missing_requirements),
)
