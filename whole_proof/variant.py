"""Compile variants of the imaging core that are not shipped: with sanitizers, with other flags, or from another source.

A variant uses the libraries of the official wheel, and is installed in a copy of that wheel, so it runs like the real
core. It is compiled with the commands of the real build and additional arguments.
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
    """The source of a variant, and its additional flags.

    Attributes:
        source: top directory of the source tree, which is not modified.
        flags: compiler flags that are added after the flags of the build, and so override these.
        linker: additional arguments for linking.
        objects: existing objects, by source file; these source files are not compiled again.
    """

    source: Path
    flags: tuple[str, ...] = ()
    linker: tuple[str, ...] = ()
    objects: Mapping[str, Path] = field(default_factory=dict)


@immutable
class CompiledCore:
    """A compiled and linked variant.

    Attributes:
        path: path of the extension module.
        objects: paths of its objects, by source file.
    """

    path: Path
    objects: Mapping[str, Path]


def compile_core(steps: CoreSteps, variant: SanitizedVariant, directory: Path) -> CompiledCore:
    """Compile and link a variant.

    Args:
        steps: the commands of the real build.
        variant: source and flags of the variant.
        directory: directory for the output; created if it does not exist.

    Raises:
        FailedError: compiling or linking failed; the details contain the compiler's messages.
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
    """Call `work` for every compilation, several at a time, and return the results in order.

    If a call raises an exception, the running compilers are killed, and the exception is raised.
    """
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
    """Compiles the files of one variant, with a precompiled header if possible."""

    def __init__(self, steps: CoreSteps, variant: SanitizedVariant, directory: Path) -> None:
        """Precompile the header that every file includes first; without that, compiling works, but takes longer."""
        self._steps = steps
        self._variant = variant
        self._prefix: tuple[str, ...] = ()
        directory.mkdir(parents=True, exist_ok=True)
        with_header = next((step for step in steps.compile if INCLUDE in step.words), None)
        if with_header is not None and steps.gcc:  # clang refuses to use a precompiled header with other flags
            header = directory / "prefix.h"
            files.write_text(header, steps.prefix)
            self._prefix = (INCLUDE, str(header))
            # GCC ignores a precompiled header if the macros of a file differ, so only those that all files share are
            # defined.
            everywhere = set.intersection(*(set(step.words) for step in steps.compile))
            words = drop_prefix_header(with_header.words)
            common = (word for word in words if not word.startswith("-D") or word in everywhere)
            words = (*common, *variant.flags, "-x", "c-header", str(header), "-o", f"{header}.gch")
            _run(steps, variant, words, ProcessGroup())

    def compile(self, step: RecordedCompilation, output: tuple[str, ...], process_group: ProcessGroup) -> Completed:
        """Compile one file, and return the finished process, whose exit code may report a failure.

        Args:
            step: the command of the real build.
            output: arguments for the output file, or an option like -fsyntax-only that replaces compiling.
            process_group: a group by which the caller can kill several compilations.
        """
        prefix = self._prefix if INCLUDE in step.words else ()
        words = (*drop_prefix_header(step.words), *self._variant.flags, *prefix, "-c", step.source, *output)
        return _run(self._steps, self._variant, words, process_group)


def install_core_in_copy(base_wheel: BaseWheel, core: Path, source: Path, directory: Path) -> Path:
    """Copy the unpacked official wheel, and replace its core and its version file.

    The version file is taken from the core's source, if that has one.

    Args:
        base_wheel: the unpacked official wheel, which is not modified.
        core: path of the core to install.
        source: top directory of the source from which the core was compiled.
        directory: the directory to create for the copy.

    Returns:
        The directory of the copy, for `sys.path`.
    """
    shutil.copytree(base_wheel.root, directory, copy_function=_link_or_copy)
    files.write_bytes(directory / base_wheel.core.relative_to(base_wheel.root), core.read_bytes(), mode=0o755)
    version = next(source.glob(f"**/{base_wheel.package.name}/{VERSION_FILE}"), None)
    if version is not None:
        files.write_bytes(directory / base_wheel.package.name / VERSION_FILE, version.read_bytes())
    return directory


def _link_or_copy(source: str, target: str) -> None:
    """Hard-link a file, or copy it if that fails. A link is safe: the files are replaced, never written into."""
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
