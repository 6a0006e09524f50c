"""Compile a source for all CPU levels in parallel, each in its own copy of the source.

Backends leave objects in the source that another level would reuse.
"""

import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.concurrency import run_together
from fastinstall.core.events import Finished, Noted, Started
from fastinstall.core.process import ProcessGroup
from fastinstall.core.values import immutable
from fastinstall.model.wheel_order import LevelTarget
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile import STAGE, CompileContext, CompileProgress, CompilerOutput, compile_wheel
from fastinstall.wheelbuild.headers.probe import Headers, include_flags
from fastinstall.wheelbuild.linking import Linking, LinkLocation
from fastinstall.wheelbuild.own_code import assemble_marks, compile_memory
from fastinstall.wheelbuild.plain_paths import path_flags
from fastinstall.wheelbuild.prefix_header import precompile_prefix_header
from fastinstall.wheelbuild.wheel_files import unpack_wheel

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 (the place that glibc uses)


_SEMAPHORE = 32
"""Bytes of a semaphore. Source: bits/semaphore.h of glibc."""


def files_to_compile(source: Path) -> int:
    """Count C files of the source without those that another one includes; an estimate for the progress bar."""
    found = [path for path in source.glob("src/**/*.c") if "thirdparty" not in path.parts]
    lines = (line for path in found for line in path.read_text("utf-8", "replace").splitlines())
    included = {line.split('"')[1] for line in lines if line.startswith("#include") and line.rstrip().endswith('.c"')}
    return sum(1 for path in found if path.name not in included)


@immutable
class BuildContext:
    """The inputs shared by all levels of a build.

    Attributes:
        headers: as found, with all searched directories.
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
        source: its copy of the source.
        tree: the directory of its unpacked wheel.
    """

    target: LevelTarget
    source: Path
    compiled: CompilerOutput
    tree: Path


def compile_levels(build_context: BuildContext, places: Mapping[str, LinkLocation]) -> tuple[CompiledLevel, ...]:
    """Compile every target of the build.

    Args:
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
    before = (*include_flags(build_context.headers.directories), *prefix, *path_flags(space, request.cache))
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
