"""Compile: `pip wheel` in isolation, heard line by line, and its log audited. The target is not touched."""

import threading
from pathlib import Path

from fastinstall.build.failures import explain
from fastinstall.build.linking import Linking
from fastinstall.build.request import BuildRequest
from fastinstall.build.requirements import Requirements, without_settings
from fastinstall.build.variables import Flags, build_variables
from fastinstall.errors import FailedError
from fastinstall.model.event import Emit, Progressed
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import Target
from fastinstall.rules.flags import audit_compile_lines, compiled_file, parse_setup_summary
from fastinstall.rules.secrets import redacted
from fastinstall.system import files
from fastinstall.system.process import Leash, run

STAGE = "compile"


@immutable
class Compiled:
    """What the compiler made.

    Attributes:
        wheel: as the build's backend left it.
        features: of its summary: name to version ("" where it gives none), None where absent.
        output: everything that the build said.
    """

    wheel: Path
    features: dict[str, str | None]
    output: str


@immutable
class Workshop:
    """Where a core is compiled.

    Attributes:
        target: the level that it is for, with its flags.
        jobs: parallel compile jobs.
        source: the unpacked source, used by no other.
        output: an empty directory for the wheel.
        temporary: for pip's and the compiler's temporary files.
        requirements: the build's own, fetched before.
        log: the file that receives the whole output.
        leash: ends the compilation with those of other levels.
        tally: counts compiled files.
    """

    target: Target
    jobs: int
    source: Path
    output: Path
    temporary: Path
    requirements: Requirements
    log: Path
    leash: Leash
    tally: "Tally"


class Tally:
    """Compiled files of all levels that are built at the same time, told to whoever listens."""

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


def compile_wheel(request: BuildRequest, workshop: Workshop, link: Linking, cppflags: tuple[str, ...]) -> Compiled:
    """Build the wheel.

    Args:
        request: the build.
        workshop: where it happens.
        link: how it links.
        cppflags: preprocessor flags.

    Raises:
        FailedError: the build failed, the flags did not reach the compiler, or a required library
            was not used; with the last lines, the log's path, and what to do where the cause is known.
    """
    flags = Flags(target=workshop.target, jobs=workshop.jobs, preprocessor=cppflags, linker=link.flags)
    variables = {**without_settings(build_variables(request, flags)), "TMPDIR": str(workshop.temporary)}
    watch = _Watch(workshop.tally)
    argv = _argv(request, workshop, link)
    completed = run(argv, environment=variables, check=False, on_line=watch.hear, leash=workshop.leash)
    output = redacted(completed.stdout)
    files.write_text(workshop.log, output)
    if completed.exit_code != 0:
        raise explain(request, completed, workshop.log)
    features = parse_setup_summary(completed.stdout)
    _require_flags(workshop, watch.lines)
    _require_features(request, features, workshop.log)
    return Compiled(wheel=_only_wheel(workshop), features=features, output=output)


class _Watch:
    """Turns lines of the build into progress."""

    def __init__(self, tally: Tally) -> None:
        self.lines: list[str] = []
        self._tally = tally

    def hear(self, line: str) -> None:
        self.lines.append(line)
        if compiled_file(line) is not None:
            self._tally.count()


def _argv(request: BuildRequest, workshop: Workshop, link: Linking) -> tuple[str, ...]:
    # The long form: pip knows -C only since 23.1, and an old Python is served by its own pip.
    chosen = tuple(word for name, value in link.options.items() for word in ("--config-settings", f"{name}={value}"))
    quiet = ("--no-color", "--progress-bar", "off")
    fresh = ("--no-deps", "--no-cache-dir")  # pip's cache ignores CFLAGS
    where = ("-w", str(workshop.output), str(workshop.source))
    return (*request.pip, "wheel", "-v", *quiet, *fresh, *workshop.requirements.words, *chosen, *where)


def files_to_compile(source: Path) -> int:
    """C files of the source less those that another one includes; an estimate for the progress bar."""
    found = [path for path in source.glob("src/**/*.c") if "thirdparty" not in path.parts]
    lines = (line for path in found for line in path.read_text("utf-8", "replace").splitlines())
    included = {line.split('"')[1] for line in lines if line.startswith("#include") and line.rstrip().endswith('.c"')}
    return sum(1 for path in found if path.name not in included)


def _require_flags(workshop: Workshop, lines: list[str]) -> None:
    problems = audit_compile_lines(lines, workshop.target.cflags)
    if problems:
        raise FailedError(f"the build is not what was asked for: {problems[0]}; log: {workshop.log}", details=problems)


def _require_features(request: BuildRequest, features: dict[str, str | None], log: Path) -> None:
    wanted = {name: library.feature for name, library in request.enabled().items() if library.feature}
    missing = [name for name, feature in wanted.items() if features.get(feature) is None]
    if missing:
        raise FailedError(f"the build left out {', '.join(missing)}, which it was to use; log: {log}")


def _only_wheel(workshop: Workshop) -> Path:
    wheels = sorted(workshop.output.glob("*.whl"))
    if len(wheels) != 1:
        raise FailedError(f"the build left {len(wheels)} wheels where one was expected; log: {workshop.log}")
    return wheels[0]
