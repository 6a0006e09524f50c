"""An imaging core compiled otherwise than it is shipped: with sanitizers, unoptimised, or from another source.

It is linked to the libraries of the official wheel and put into a copy of it, so it runs like the real one. Its
commands are those of the real build, with words added to them.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from pathlib import Path
from typing import TypeVar

from fastinstall.core import files
from fastinstall.core.concurrency import await_future
from fastinstall.core.errors import FailedError
from fastinstall.core.process import Completed, ProcessGroup, run
from fastinstall.core.values import immutable
from fastinstall.wheelbuild.base_wheel import VERSION_FILE, BaseWheel
from whole_proof.recorded_build import INCLUDE, CoreSteps, RecordedCompilation, drop_prefix_header

T = TypeVar("T")


@immutable
class SanitizedVariant:
    """What is compiled, and how.

    Attributes:
        source: top directory of a source tree; it is read only.
        flags: added behind the build's own, so that they win.
        linker: added for the linker.
        objects: ready ones by source; their files are not compiled.
    """

    source: Path
    flags: tuple[str, ...] = ()
    linker: tuple[str, ...] = ()
    objects: Mapping[str, Path] = field(default_factory=dict)


@immutable
class CompiledCore:
    """A variant that is ready.

    Attributes:
        path: of the extension module.
        objects: what it was linked from, by source.
    """

    path: Path
    objects: Mapping[str, Path]


def compile_core(steps: CoreSteps, variant: SanitizedVariant, directory: Path) -> CompiledCore:
    """Compile and link a variant.

    Args:
        steps: how it is done for real.
        variant: what is different.
        directory: for what is made; made itself if it is not there.

    Raises:
        FailedError: it does not compile or link; the compiler's words are in the details.
    """
    wanted = tuple(step for step in steps.compile if step.source not in variant.objects)
    bench = VariantCompiler(replace(steps, compile=wanted), variant, directory)
    made = {step.source: directory / step.output.replace("/", "-") for step in wanted}

    def compile_one(step: RecordedCompilation, process_group: ProcessGroup) -> None:
        completed = bench.compile(step, ("-o", str(made[step.source])), process_group)
        if completed.exit_code != 0:
            raise FailedError(f"{step.source} does not compile", details=tuple(completed.stderr.splitlines()))

    compile_in_parallel(wanted, compile_one, steps.jobs)
    objects = {**variant.objects, **made}
    return CompiledCore(path=_link(steps, variant, objects, directory / "core.so"), objects=objects)


def compile_in_parallel(
    steps: Sequence[RecordedCompilation], work: Callable[[RecordedCompilation, ProcessGroup], T], jobs: int
) -> list[T]:
    """Do something with every file, several at a time; the first failure ends all, and is raised."""
    process_group = ProcessGroup()
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        futures = [pool.submit(work, step, process_group) for step in steps]
        try:
            return [await_future(future) for future in futures]
        except BaseException:
            process_group.pull()
            pool.shutdown(cancel_futures=True)
            raise


class VariantCompiler:
    """Compiles the files of one variant."""

    def __init__(self, steps: CoreSteps, variant: SanitizedVariant, directory: Path) -> None:
        """Precompile the header that is put before every file; if that fails, it is read as it is, and takes longer."""
        self._steps = steps
        self._variant = variant
        self._prefix: tuple[str, ...] = ()
        directory.mkdir(parents=True, exist_ok=True)
        with_header = next((step for step in steps.compile if INCLUDE in step.words), None)
        if with_header is not None and steps.gcc:  # clang refuses to compile where the flags of a file differ
            header = directory / "prefix.h"
            files.write_text(header, steps.prefix)
            self._prefix = (INCLUDE, str(header))
            # It is not read where macros differ: only those that all files are compiled with.
            everywhere = set.intersection(*(set(step.words) for step in steps.compile))
            words = drop_prefix_header(with_header.words)
            common = (word for word in words if not word.startswith("-D") or word in everywhere)
            words = (*common, *variant.flags, "-x", "c-header", str(header), "-o", f"{header}.gch")
            _run(steps, variant, words, ProcessGroup())

    def compile(self, step: RecordedCompilation, output: tuple[str, ...], process_group: ProcessGroup) -> Completed:
        """Compile one file; whether that worked is told by the exit code.

        Args:
            step: how.
            output: words for the compiler: where to, or what to do instead.
            process_group: ends it with others.
        """
        prefix = self._prefix if INCLUDE in step.words else ()
        words = (*drop_prefix_header(step.words), *self._variant.flags, *prefix, "-c", step.source, *output)
        return _run(self._steps, self._variant, words, process_group)


def install_core_in_copy(base_wheel: BaseWheel, core: Path, source: Path, directory: Path) -> Path:
    """Put a core into a copy of the official wheel, with the version file that belongs to its source.

    Args:
        base_wheel: the unpacked official wheel; it stays as it is.
        core: the extension module.
        source: top directory of what it was compiled from.
        directory: where the copy goes; must not exist.

    Returns:
        The directory, which can go on `sys.path`.
    """
    shutil.copytree(base_wheel.root, directory, copy_function=_link_or_copy)
    files.write_bytes(directory / base_wheel.core.relative_to(base_wheel.root), core.read_bytes(), mode=0o755)
    version = next(source.glob(f"**/{base_wheel.package.name}/{VERSION_FILE}"), None)
    if version is not None:
        files.write_bytes(directory / base_wheel.package.name / VERSION_FILE, version.read_bytes())
    return directory


def _link_or_copy(source: str, target: str) -> None:
    """Nothing is written into these files: what differs is put in their place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _link(steps: CoreSteps, variant: SanitizedVariant, objects: Mapping[str, Path], core: Path) -> Path:
    paths = {step.output: str(objects[step.source]) for step in steps.compile}
    words = (*(paths.get(word, word) for word in steps.link), *variant.linker, "-o", str(core))
    completed = _run(steps, variant, words, ProcessGroup())
    if completed.exit_code != 0:
        raise FailedError("the core cannot be linked", details=tuple(completed.stderr.splitlines()))
    return core


def _run(steps: CoreSteps, variant: SanitizedVariant, words: tuple[str, ...], process_group: ProcessGroup) -> Completed:
    argv = (*steps.compiler, *words)
    return run(argv, environment=steps.variables, directory=variant.source, check=False, process_group=process_group)
