"""Compile a source for all CPU levels in parallel with its build backend, and audit the logs.

Each level has its own copy of the source, because backends leave object files in the source, and another level would
reuse them.

A backend (PEP 517) can import only its requirements. For each wheel, it runs in one process of the target's
interpreter. With pip, each wheel would take five processes, and unpack the requirements again: 3.8 s of CPU time
besides the compiler's, instead of 1.0 s (Pillow 13.0.0, measured 2026-11-23). The interpreter runs without `site`, so
it neither imports from the target's site-packages nor runs `.pth` files.
"""

import os
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.architecture import architecture_of
from fastinstall.core.archives import unpack_zip
from fastinstall.core.concurrency import run_together
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Finished, Noted, Progressed, Started
from fastinstall.core.process import ProcessGroup, run
from fastinstall.core.secrets import redact_text, remove_secret_variables
from fastinstall.core.values import immutable
from fastinstall.index.pip import pip_environment
from fastinstall.model.artefact import LevelTarget
from fastinstall.wheelbuild.base_wheel import BaseWheel, CorePlacement, location_flags
from fastinstall.wheelbuild.build_inputs import BuildRequest, path_flags
from fastinstall.wheelbuild.build_log import audit_compile_lines, explain, parse_compiled_file, parse_setup_summary
from fastinstall.wheelbuild.headers import Headers, include_flags
from fastinstall.wheelbuild.linking import make_standalone_run_path, options
from fastinstall.wheelbuild.own_code import compile_own_code, precompile_prefix_header
from fastinstall.wheelbuild.requirements import LIBRARY, PROGRAMS, read_build_system
from fastinstall.wheelbuild.static_libraries import StaticLibrary, find_archiver

RunBackend = Callable[[Sequence[str], Path, Mapping[str, str]], None]
"""Runs a backend's process, and raises if it fails.

The arguments are the command, its working directory, and environment variables to add to those of the build.
"""


def call_backend(
    *,
    source: Path,
    requirements: Path,
    python: str,
    settings: Mapping[str, str],
    output: Path,
    variables: Mapping[str, str],
    run: RunBackend,
) -> None:
    """Build a wheel with the source's build backend.

    Args:
        source: the top directory of the unpacked source.
        requirements: the backend's requirements, as `install_requirements` installed them.
        python: the interpreter that runs the backend.
        settings: configuration settings (PEP 517).
        output: the directory for the wheel; created if missing.
        variables: environment variables of the build.
        run: runs the backend's process.

    Raises:
        FailedError: the backend cannot be used, or failed.
    """
    from pyproject_hooks import (
        BackendUnavailable,
        BuildBackendHookCaller,
        HookMissing,
        UnsupportedOperation,
    )  # needed only for a build

    system = read_build_system(source)
    search = {"PATH": requirements / PROGRAMS, "PYTHONPATH": requirements / LIBRARY}
    paths = {name: os.pathsep.join(filter(None, (str(path), variables.get(name)))) for name, path in search.items()}

    def run_isolated(
        cmd: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None
    ) -> None:
        isolated = (cmd[0], "-S", *cmd[1:])
        run(isolated, Path(cwd or source), {**paths, "PYTHONUNBUFFERED": "1", **(extra_environ or {})})

    hooks = BuildBackendHookCaller(
        str(source), system.backend, system.backend_path, run_isolated, python_executable=python
    )
    output.mkdir(parents=True, exist_ok=True)
    try:
        hooks.build_wheel(str(output), dict(settings))
    except (BackendUnavailable, HookMissing, UnsupportedOperation) as error:
        raise FailedError(f"{source.name}: cannot use its build backend {system.backend}: {error}") from error


STAGE = "compile"


@immutable
class BuildContext:
    """The prepared inputs of compilations, shared by all levels of a build.

    Attributes:
        headers: the C headers, with the complete list of directories to search.
        source: top directory of the prepared source.
        kernels: names of the kernels that were added to the source.
        statics: libraries that are linked into the cores.
        base_wheel: the unpacked official wheel that the cores are placed in; None without one.
        placements: the place of each core in the base wheel; empty without a base wheel.
        library_flags: linker flags that find the libraries to link.
        requirements: the directory with the installed requirements of the backend.
        space: the build's temporary directory.
        log: the file for the output of all levels.
    """

    request: BuildRequest
    headers: Headers
    source: Path
    kernels: tuple[str, ...]
    statics: tuple[StaticLibrary, ...]
    base_wheel: BaseWheel | None
    placements: tuple[CorePlacement, ...]
    library_flags: tuple[str, ...]
    requirements: Path
    space: Path
    log: Path

    @property
    def place_flags(self) -> dict[str, tuple[str, ...]]:
        """Linker flags that set search path and name of each level's core, by the level's name."""
        if self.base_wheel is None:
            flags = location_flags(make_standalone_run_path(self.request))
            return {each.level: flags for each in self.request.step.targets}
        return {placement.target.level: placement.flags for placement in self.placements}

    def log_of(self, target: LevelTarget) -> Path:
        """Return the file for the output of one level."""
        return self.log.with_suffix(f".{target.level}.log")


@immutable
class CompiledLevel:
    """The compiled wheel of one level.

    Attributes:
        source: the level's copy of the source.
        wheel: the wheel that the build backend made.
        tree: the directory of the unpacked wheel.
        features: features in the summary of the build: version by name, "" if unknown, None if the feature is absent.
    """

    target: LevelTarget
    source: Path
    wheel: Path
    tree: Path
    features: dict[str, str | None]


def compile_levels(context: BuildContext, places: Mapping[str, tuple[str, ...]]) -> tuple[CompiledLevel, ...]:
    """Compile the source for every level of the build.

    Args:
        context: the prepared inputs of the compilations.
        places: for each level, by name, the linker flags that set search path and name of the core.

    Raises:
        FailedError: a compilation failed, its flags did not reach the compiler, or a required library was not used. The
            error has the last lines of the log, its path, and a remedy if the cause is known. Compilations of other
            levels were stopped.
    """
    request, started = context.request, time.monotonic()
    what = f"{request.recipe.source.pypi} for {' and '.join(request.step.levels)}"
    request.emit(Started(stage=STAGE, message=f"compiling {what}"))
    # Every level may use all jobs, so that the slowest one gets the CPUs of levels that have finished.
    jobs = request.step.jobs
    if not has_semaphores():
        jobs = 1
        message = "no shared memory: /dev/shm is not writable, so each level compiles one file at a time"
        request.emit(Noted(message=message, warning=True))
    targets = request.step.targets
    total, numbers, lock = len(targets) * _count_files(context.source), count(1), threading.Lock()

    def count_file() -> None:
        with lock:
            done = next(numbers)
            request.emit(Progressed(stage=STAGE, done=done, total=max(total, done)))

    works = [partial(_compile_level, context, each, places[each.level], jobs, count_file) for each in targets]
    compiled = tuple(run_together(works))
    logs = [context.log_of(each) for each in targets]
    files.write_text(context.log, "".join(log.read_text("utf-8") for log in logs))
    for log in logs:
        files.discard(log)
    request.emit(Finished(stage=STAGE, message=f"compiled {what}", seconds=time.monotonic() - started))
    return compiled


def has_semaphores() -> bool:
    """Return whether processes can create semaphores. Pillow's setup.py creates one, for its thread pool.

    glibc stores semaphores as files in /dev/shm (sem_open(3)). AWS Lambda has no such directory, and in hardened
    containers it may be read-only.
    """
    try:
        get_context("fork").Lock()
    except OSError:
        return False
    return True


def _count_files(source: Path) -> int:
    """Estimate the number of C files to compile, for the progress bar; C files that are only included do not count."""
    found = [path for path in source.glob("src/**/*.c") if "thirdparty" not in path.parts]
    lines = (line for path in found for line in path.read_text("utf-8", "replace").splitlines())
    included = {line.split('"')[1] for line in lines if line.startswith("#include") and line.rstrip().endswith('.c"')}
    return sum(1 for path in found if path.name not in included)


def _compile_level(
    context: BuildContext,
    target: LevelTarget,
    place: tuple[str, ...],
    jobs: int,
    count_file: Callable[[], None],
    process_group: ProcessGroup,
) -> CompiledLevel:
    request, headers, space = context.request, context.headers, context.space / target.level
    source, log = space / context.source.name, context.log_of(target)
    shutil.copytree(context.source, source)
    (space / "tmp").mkdir()
    objects = compile_own_code(request, target, space, process_group)
    prefix = precompile_prefix_header(request, target, headers, source, process_group)
    variables = build_variables(
        request,
        target,
        find_archiver(request.compiler, request.variables),
        jobs=jobs,
        preprocessor=(*include_flags(headers.directories), *prefix, *path_flags(space, request.cache)),
        linker=(*context.library_flags, *place, *objects),
    )
    output, lines = list[str](), list[str]()

    def hear(line: str) -> None:
        lines.append(line)
        if parse_compiled_file(line) is not None:
            count_file()

    def run_process(argv: Sequence[str], directory: Path, more: Mapping[str, str]) -> None:
        environment = {**variables, "TMPDIR": str(space / "tmp"), **more}
        completed = run(
            tuple(argv),
            directory=directory,
            environment=environment,
            check=False,
            on_line=hear,
            process_group=process_group,
        )
        output.append(redact_text(completed.stdout))
        files.write_text(log, "".join(output))
        if completed.exit_code != 0:
            raise explain(request, completed, log)

    call_backend(
        source=source,
        requirements=context.requirements,
        python=str(request.interpreter.executable),
        settings=options(request, exclusive=context.base_wheel is not None),
        output=space / "built",
        variables=variables,
        run=run_process,
    )
    problems = audit_compile_lines(lines, target.cflags)
    if problems:
        raise FailedError(f"the build ignored its flags: {problems[0]}; log: {log}", details=problems)
    features = parse_setup_summary("".join(output))
    wanted = {name: library.feature for name, library in request.enabled().items() if library.feature}
    missing = [name for name, feature in wanted.items() if features.get(feature) is None]
    if missing:
        raise FailedError(f"the build left out {', '.join(missing)}; log: {log}")
    wheels = sorted((space / "built").glob("*.whl"))
    if len(wheels) != 1:
        raise FailedError(f"the build made {len(wheels)} wheels, expected one; log: {log}")
    unpack_zip(wheels[0], space / "tree")
    return CompiledLevel(target=target, source=source, wheel=wheels[0], tree=space / "tree", features=features)


FIXED_VARIABLES = {
    "SOURCE_DATE_EPOCH": "1577836800",  # 2020-01-01, a date that zip archives can represent
    "PYTHONHASHSEED": "0",  # makes build scripts iterate over sets in a fixed order
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}
_STRAY = frozenset(
    {
        *("CC", "CXX", "CPP", "AR", "ARFLAGS", "RANLIB", "LDSHARED", "LDCXXSHARED", "ARCHFLAGS"),
        *("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LD_RUN_PATH"),
        *("CPATH", "C_INCLUDE_PATH", "INCLUDE", "LIB", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"),
        *("JPEG_ROOT", "JPEG2K_ROOT", "TIFF_ROOT", "ZLIB_ROOT", "FREETYPE_ROOT", "HARFBUZZ_ROOT", "FRIBIDI_ROOT"),
        *("RAQM_ROOT", "WEBP_ROOT", "LCMS_ROOT", "IMAGEQUANT_ROOT", "AVIF_ROOT", "PKG_CONFIG_PATH"),
        *("MAX_CONCURRENCY", "LIB_FUZZING_ENGINE", "SOURCE_DATE_EPOCH", "SETUPTOOLS_USE_DISTUTILS", "DISTUTILS_DEBUG"),
    }
)
_HEADERS = Path("/usr/include")
_WORTH_SAYING = ("CFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "PKG_CONFIG_PATH")


def remove_stray_variables(variables: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the user's environment variables without those that would misdirect a build.

    Returns:
        The kept variables, and the names of dropped ones that the user may have set on purpose.
    """
    kept = {name: value for name, value in variables.items() if name not in _STRAY}
    return kept, tuple(name for name in _WORTH_SAYING if variables.get(name))


def build_variables(
    request: BuildRequest,
    target: LevelTarget,
    archiver: str,
    *,
    jobs: int = 1,
    preprocessor: Sequence[str] = (),
    linker: Sequence[str] = (),
) -> dict[str, str]:
    """Return the environment variables of one level's compilation.

    CC and LDSHARED are set, because the interpreter's own linker flags contain an absolute RUNPATH. CFLAGS are
    complete, because they may replace the interpreter's CFLAGS (setuptools 75.7). Variables with passwords and tokens
    are removed, because a build runs other people's code.

    Args:
        request: the build, with variables as returned by `remove_stray_variables`.
        target: the level, with its flags.
        archiver: path of the compiler's `ar`.
        jobs: how many files are compiled at the same time.
        preprocessor: flags for header directories and for the header to include first.
        linker: flags for the directories in which libraries are found at build time and at run time, and objects to
            link.
    """
    compiler = shlex.join((*request.compiler.command, "-pthread"))
    kept = pip_environment(remove_secret_variables(request.variables))
    return {
        # The user's pip settings are left out, because they may refer to files outside the build.
        **{name: value for name, value in kept.items() if not name.startswith("PIP_")},
        "PIP_CONFIG_FILE": os.devnull,
        "CC": compiler,
        "AR": shlex.quote(archiver),
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": shlex.join(target.cflags),
        "CPPFLAGS": shlex.join(preprocessor),
        "LDFLAGS": shlex.join((*target.ldflags, *linker)),
        "MAX_CONCURRENCY": str(jobs),
        **_list_places(request),
        **FIXED_VARIABLES,
    }


def _list_places(request: BuildRequest) -> dict[str, str]:
    """Return the variables that adapt a build to its platform: this machine, or a machine of another architecture."""
    interpreter = request.interpreter
    if request.is_foreign:
        # The backend runs on this machine's Python, which would put this machine's architecture into the names of the
        # wheel and its modules. These variables make the backend use the target's architecture. Source:
        # sysconfig.get_platform and setuptools.command.build_ext. _PYTHON_SYSCONFIGDATA_NAME is not needed: it would
        # change only values that CC, CFLAGS and so on replace.
        return {
            "_PYTHON_HOST_PLATFORM": interpreter.platform,
            "SETUPTOOLS_EXT_SUFFIX": interpreter.extension_suffix,
        }
    # Compilers search Debian's directory of architecture-specific headers by default, but Pillow's setup.py does not.
    multiarch = _HEADERS / architecture_of(interpreter.machine).target
    return {"C_INCLUDE_PATH": str(multiarch)} if multiarch.is_dir() else {}
