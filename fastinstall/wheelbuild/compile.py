"""Compile a source for one CPU level by its build backend, and audit the log. The target is not touched."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Emit, Progressed
from fastinstall.core.process import Completed, ProcessGroup, run
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable
from fastinstall.model.wheel_order import LevelTarget
from fastinstall.wheelbuild.build_backend import BackendCall, BackendFailedError, call_backend
from fastinstall.wheelbuild.build_failures import explain
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.linking import Linking
from fastinstall.wheelbuild.log_audit import audit_compile_lines, parse_compiled_file, parse_setup_summary
from fastinstall.wheelbuild.static_libraries import find_archiver
from fastinstall.wheelbuild.variables import Flags, build_variables, remove_pip_settings

STAGE = "compile"


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
        jobs: how many files are compiled at once.
        source: the unpacked source, exclusive to this compilation.
        output: an empty directory for the wheel.
        temporary: for temporary files of backend and compiler.
        requirements: the build's own, installed.
        log: the file for the complete output.
        process_group: stops the compilation together with the other levels.
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
        """Count one more compiled file."""
        with self._lock:
            self._done += 1
            self._emit(Progressed(stage=STAGE, done=self._done, total=max(self._total, self._done)))


def compile_wheel(
    request: BuildRequest, context: CompileContext, link: Linking, cppflags: tuple[str, ...]
) -> CompilerOutput:
    """Build the wheel.

    Args:
        cppflags: flags of the preprocessor.

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
