"""Compile a source for all CPU levels in parallel, and audit the build's log. The target is not touched.

The source's build backend compiles each level in its own copy of the source, because backends leave objects there
that another level would reuse. The build's environment variables are selected ones of the user's, and ours.
"""

import os
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.architecture import architecture_of
from fastinstall.core.concurrency import run_together
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Finished, Noted, Progressed, Started
from fastinstall.core.process import Completed, ProcessGroup, run
from fastinstall.core.secrets import redact_text, remove_secret_variables
from fastinstall.core.values import immutable
from fastinstall.index.pip import pip_environment
from fastinstall.model.wheel_order import LevelTarget
from fastinstall.observe.toolchain import audit_compile_lines, parse_compiled_file, parse_setup_summary
from fastinstall.wheelbuild.build_backend import BackendCall, BackendFailedError, call_backend
from fastinstall.wheelbuild.build_failures import explain
from fastinstall.wheelbuild.build_inputs import (
    FIXED_VARIABLES,
    BuildRequest,
    path_flags,
    remove_pip_settings,
)
from fastinstall.wheelbuild.linking import Headers, Linking, LinkLocation, include_flags
from fastinstall.wheelbuild.own_code import assemble_marks, compile_memory, precompile_prefix_header
from fastinstall.wheelbuild.static_libraries import find_archiver
from fastinstall.wheelbuild.wheel_files import unpack_wheel

STAGE = "compile"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 (the place that glibc uses)
_SEMAPHORE = 32
"""Bytes of a semaphore. Source: bits/semaphore.h of glibc."""


@immutable
class CompilerOutput:
    """A compiled wheel.

    Attributes:
        wheel: as the build backend made it.
        features: of its summary: name to version ("" if unknown), None if absent.
        output: the complete output of the build.
    """

    wheel: Path
    features: dict[str, str | None]
    output: str


@immutable
class CompileContext:
    """The inputs of one compilation.

    Attributes:
        target: the level, with its flags.
        jobs: parallel compile jobs.
        source: the unpacked source, exclusive to this compilation.
        output: an empty directory for the wheel.
        temporary: for temporary files of backend and compiler.
        requirements: the build's own, installed.
        log: the file for the complete output.
        process_group: stops the compilation together with the other levels.
        progress: counts compiled files.
    """

    target: LevelTarget
    jobs: int
    source: Path
    output: Path
    temporary: Path
    requirements: Path
    log: Path
    process_group: ProcessGroup
    progress: "CompileProgress"


class CompileProgress:
    """Counts compiled files of all levels in parallel, and emits progress."""

    def __init__(self, emit: Emit, total: int) -> None:
        self._emit = emit
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def count(self) -> None:
        """One more."""
        with self._lock:
            self._done += 1
            self._emit(Progressed(stage=STAGE, done=self._done, total=max(self._total, self._done)))


def compile_wheel(
    request: BuildRequest, context: CompileContext, link: Linking, cppflags: tuple[str, ...]
) -> CompilerOutput:
    """Build the wheel.

    Args:
        request: the build.
        context: the compilation.
        link: how to link.
        cppflags: preprocessor flags.

    Raises:
        FailedError: the build failed, the flags did not reach the compiler, or a required library was not used; with
            the last lines, the log's path, and a remedy if the cause is known.
    """
    flags = Flags(target=context.target, jobs=context.jobs, preprocessor=cppflags, linker=link.flags)
    archiver = find_archiver(request.compiler, request.variables)
    variables = {**remove_pip_settings(build_variables(request, flags, archiver)), "TMPDIR": str(context.temporary)}
    watch = _Watch(context.progress)
    call = BackendCall(
        source=context.source,
        requirements=context.requirements,
        python=str(request.interpreter.executable),
        settings=link.options,
        output=context.output,
    )
    said: list[str] = []

    def run_backend(argv: Sequence[str], directory: Path, more: Mapping[str, str]) -> Completed:
        completed = run(
            tuple(argv),
            directory=directory,
            environment={**variables, **more},
            check=False,
            on_line=watch.hear,
            process_group=context.process_group,
        )
        said.append(redact_text(completed.stdout))
        files.write_text(context.log, said[-1])
        return completed

    try:
        call_backend(call, variables, run_backend)
    except BackendFailedError as error:
        raise explain(request, error.completed, context.log) from None
    output = "".join(said)
    features = parse_setup_summary(output)
    _require_flags(context, watch.lines)
    _require_features(request, features, context.log)
    return CompilerOutput(wheel=_find_only_wheel(context), features=features, output=output)


class _Watch:
    """Turns lines of the build's output into progress."""

    def __init__(self, progress: CompileProgress) -> None:
        self.lines: list[str] = []
        self._progress = progress

    def hear(self, line: str) -> None:
        self.lines.append(line)
        if parse_compiled_file(line) is not None:
            self._progress.count()


def files_to_compile(source: Path) -> int:
    """Count C files of the source without those that another one includes; an estimate for the progress bar."""
    found = [path for path in source.glob("src/**/*.c") if "thirdparty" not in path.parts]
    lines = (line for path in found for line in path.read_text("utf-8", "replace").splitlines())
    included = {line.split('"')[1] for line in lines if line.startswith("#include") and line.rstrip().endswith('.c"')}
    return sum(1 for path in found if path.name not in included)


def _require_flags(context: CompileContext, lines: list[str]) -> None:
    problems = audit_compile_lines(lines, context.target.cflags)
    if problems:
        raise FailedError(f"the build ignored its flags: {problems[0]}; log: {context.log}", details=problems)


def _require_features(request: BuildRequest, features: dict[str, str | None], log: Path) -> None:
    wanted = {name: library.feature for name, library in request.enabled().items() if library.feature}
    missing = [name for name, feature in wanted.items() if features.get(feature) is None]
    if missing:
        raise FailedError(f"the build left out {', '.join(missing)}; log: {log}")


def _find_only_wheel(context: CompileContext) -> Path:
    wheels = sorted(context.output.glob("*.whl"))
    if len(wheels) != 1:
        raise FailedError(f"the build made {len(wheels)} wheels, expected one; log: {context.log}")
    return wheels[0]


@immutable
class BuildContext:
    """The inputs shared by all levels of a build.

    Attributes:
        request: the build.
        headers: as found, with all searched directories.
        source: the prepared source.
        link: the libraries to link.
        requirements: the build's own, installed.
        space: the build's temporary directory.
        log: the file for the output of all levels.
    """

    request: BuildRequest
    headers: Headers
    source: Path
    link: Linking
    requirements: Path
    space: Path
    log: Path


@immutable
class CompiledLevel:
    """One level, compiled.

    Attributes:
        target: the level.
        source: its copy of the source.
        compiled: the result.
        tree: its unpacked wheel.
    """

    target: LevelTarget
    source: Path
    compiled: CompilerOutput
    tree: Path


def compile_levels(build_context: BuildContext, places: Mapping[str, LinkLocation]) -> tuple[CompiledLevel, ...]:
    """Compile every target of the build.

    Args:
        build_context: the shared inputs.
        places: the place of each level's core, by the level's name.

    Raises:
        FailedError: one of them failed; the others were stopped.
    """
    request, started = build_context.request, time.monotonic()
    targets = request.step.targets
    what = f"{request.recipe.source.pypi} for {' and '.join(request.step.levels)}"
    request.emit(Started(stage=STAGE, message=f"compiling {what}"))
    progress = CompileProgress(request.emit, len(targets) * files_to_compile(build_context.source))
    works = [partial(_compile, build_context, target, places[target.level], progress) for target in targets]
    if not has_semaphores():
        message = f"{_SHARED_MEMORY} is not writable: each level compiles one file at a time"
        request.emit(Noted(message=message, warning=True))
    compiled_levels = tuple(run_together(works))
    files.write_text(build_context.log, "".join(compiled_level.compiled.output for compiled_level in compiled_levels))
    for compiled_level in compiled_levels:
        files.discard(_log_of(build_context, compiled_level.target))
    request.emit(Finished(stage=STAGE, message=f"compiled {what}", seconds=time.monotonic() - started))
    return compiled_levels


def _compile(
    build_context: BuildContext,
    target: LevelTarget,
    place: LinkLocation,
    progress: CompileProgress,
    process_group: ProcessGroup,
) -> CompiledLevel:
    request, space = build_context.request, build_context.space / target.level
    context = _make_compile_context(build_context, target, progress, process_group)
    objects = (
        *assemble_marks(request, target, space, process_group),
        *compile_memory(request, target, space, process_group),
    )
    link = replace(build_context.link, flags=(*build_context.link.flags, *place.flags, *objects))
    prefix = precompile_prefix_header(request, target, build_context.headers, context.source, process_group)
    before = (*preprocessor_flags(build_context.headers.directories, prefix), *path_flags(space, request.cache))
    compiled = compile_wheel(request, context, link, before)
    unpack_wheel(compiled.wheel, space / "tree")
    return CompiledLevel(target=target, source=context.source, compiled=compiled, tree=space / "tree")


def _make_compile_context(
    build_context: BuildContext, target: LevelTarget, progress: CompileProgress, process_group: ProcessGroup
) -> CompileContext:
    space = build_context.space / target.level
    source = space / build_context.source.name
    shutil.copytree(build_context.source, source)
    (space / "tmp").mkdir()
    return CompileContext(
        target=target,
        # For each level: the slowest gets the CPUs that the others leave.
        jobs=build_context.request.step.jobs if has_semaphores() else 1,
        source=source,
        output=space / "built",
        temporary=space / "tmp",
        requirements=build_context.requirements,
        log=_log_of(build_context, target),
        process_group=process_group,
        progress=progress,
    )


def has_semaphores() -> bool:
    """Return whether processes can make semaphores, as the thread pool of Pillow's setup.py does without need.

    glibc keeps them as files (sem_open(3)). A function of AWS Lambda has no such directory, and a hardened container
    may have it read-only.
    """
    try:
        with tempfile.TemporaryFile(dir=_SHARED_MEMORY) as file:
            file.write(bytes(_SEMAPHORE))
            file.flush()
    except OSError:
        return False
    return True


def _log_of(build_context: BuildContext, target: LevelTarget) -> Path:
    return build_context.log.with_suffix(f".{target.level}.log")


_STRAY = frozenset(
    {
        *("CC", "CXX", "CPP", "AR", "ARFLAGS", "RANLIB", "LDSHARED", "LDCXXSHARED", "ARCHFLAGS"),
        *("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LD_RUN_PATH"),
        *("CPATH", "C_INCLUDE_PATH", "INCLUDE", "LIB", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"),
        *("JPEG_ROOT", "JPEG2K_ROOT", "TIFF_ROOT", "ZLIB_ROOT", "FREETYPE_ROOT", "HARFBUZZ_ROOT", "FRIBIDI_ROOT"),
        *("RAQM_ROOT", "WEBP_ROOT", "LCMS_ROOT", "IMAGEQUANT_ROOT", "AVIF_ROOT"),
        *("PKG_CONFIG_PATH", "MAX_CONCURRENCY", "LIB_FUZZING_ENGINE", "SOURCE_DATE_EPOCH"),
        *(
            "SETUPTOOLS_USE_DISTUTILS",
            "DISTUTILS_DEBUG",
            "PIP_CONFIG_SETTINGS",
            "PIP_GLOBAL_OPTION",
            "PIP_BUILD_OPTION",
        ),
        *("PIP_NO_BUILD_ISOLATION", "PIP_NO_CLEAN", "PIP_LOG", "PIP_WHEEL_DIR"),
    }
)
_MULTIARCH = Path("/usr/include", architecture_of(os.uname().machine).target)
"""Debian's place of headers that compilers find automatically, but Pillow's setup.py only by pkg-config or if told."""

_WORTH_SAYING = ("CFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "PKG_CONFIG_PATH")


def remove_stray_variables(variables: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the user's environment without variables that would misdirect a build.

    Returns:
        The kept variables; and the names of dropped ones that somebody may have set on purpose.
    """
    kept = {name: value for name, value in variables.items() if name not in _STRAY}
    return kept, tuple(name for name in _WORTH_SAYING if variables.get(name))


@immutable
class Flags:
    """Flags of compiler and linker for one core.

    Attributes:
        target: the level, with its flags.
        jobs: parallel compile jobs.
        preprocessor: directories of headers, and the header to include first.
        linker: directories of libraries, at build time and at run time.
    """

    target: LevelTarget
    jobs: int
    preprocessor: tuple[str, ...]
    linker: tuple[str, ...]


def build_variables(request: BuildRequest, flags: Flags, archiver: str) -> dict[str, str]:
    """Return the environment variables of a build.

    CC and LDSHARED are set to exclude the interpreter's own linker flags with their absolute RUNPATH. CFLAGS are
    complete, because they may replace the interpreter's (setuptools 75.7). A source is other people's code: it gets
    no passwords and tokens.

    Args:
        request: the build, with clean variables.
        flags: of the core.
        archiver: of the compiler.
    """
    compiler = shlex.join((*request.compiler.command, "-pthread"))
    return {
        **pip_environment(remove_secret_variables(request.variables)),
        "CC": compiler,
        "AR": shlex.quote(archiver),
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": shlex.join(flags.target.cflags),
        "CPPFLAGS": shlex.join(flags.preprocessor),
        "LDFLAGS": shlex.join((*flags.target.ldflags, *flags.linker)),
        "MAX_CONCURRENCY": str(flags.jobs),
        **({"C_INCLUDE_PATH": str(_MULTIARCH)} if _MULTIARCH.is_dir() else {}),
        **FIXED_VARIABLES,
    }


def preprocessor_flags(directories: tuple[Path, ...], prefix: tuple[str, ...]) -> tuple[str, ...]:
    """Return CPPFLAGS: directories of headers, and the header to include first."""
    return (*include_flags(directories), *prefix)
