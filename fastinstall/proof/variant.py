"""An imaging core compiled otherwise than it is shipped: with sanitizers, unoptimised, or of another source.

It is linked to the libraries of the official wheel and put into a copy of it, so it runs like the real one.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from pathlib import Path
from typing import TypeVar

from fastinstall.build.chassis import VERSION_FILE, Chassis
from fastinstall.errors import FailedError
from fastinstall.model.immutable import immutable
from fastinstall.proof.recording import CompileStep, CoreSteps
from fastinstall.system import files
from fastinstall.system.process import Completed, Leash, run
from fastinstall.system.together import awaited

T = TypeVar("T")

_INCLUDE = "-include"


@immutable
class Variant:
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


def compile_core(steps: CoreSteps, variant: Variant, directory: Path) -> CompiledCore:
    """Compile and link a variant.

    Args:
        steps: how it is done for real.
        variant: what is different.
        directory: for what is made; made itself if it is not there.

    Raises:
        FailedError: it does not compile or link; the compiler's words are in the details.
    """
    wanted = tuple(step for step in steps.compile if step.source not in variant.objects)
    bench = Bench(replace(steps, compile=wanted), variant, directory)
    made = {step.source: directory / step.output.replace("/", "-") for step in wanted}

    def compile_one(step: CompileStep, leash: Leash) -> None:
        completed = bench.compile(step, ("-o", str(made[step.source])), leash)
        if completed.exit_code != 0:
            raise FailedError(f"{step.source} does not compile", details=tuple(completed.stderr.splitlines()))

    for_each(wanted, compile_one, steps.jobs)
    objects = {**variant.objects, **made}
    return CompiledCore(path=_link(steps, variant, objects, directory / "core.so"), objects=objects)


def for_each(steps: Sequence[CompileStep], work: Callable[[CompileStep, Leash], T], jobs: int) -> list[T]:
    """Do something with every file, several at a time; the first failure ends all, and is raised."""
    leash = Leash()
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        futures = [pool.submit(work, step, leash) for step in steps]
        try:
            return [awaited(future) for future in futures]
        except BaseException:
            leash.pull()
            pool.shutdown(cancel_futures=True)
            raise


class Bench:
    """Compiles the files of one variant."""

    def __init__(self, steps: CoreSteps, variant: Variant, directory: Path) -> None:
        """Precompile the header that is put before every file, with the variant's flags."""
        self._steps = steps
        self._variant = variant
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._prefix = self._precompiled()

    def compile(self, step: CompileStep, output: tuple[str, ...], leash: Leash) -> Completed:
        """Compile one file; whether that worked is told by the exit code.

        Args:
            step: how.
            output: words for the compiler: where to, or what to do instead.
            leash: ends it with others.
        """
        prefix = self._prefix if _INCLUDE in step.words else ()
        words = (*_without_prefix(step.words), *self._variant.flags, *prefix, "-c", step.source, *output)
        return self._run(words, leash)

    def _precompiled(self) -> tuple[str, ...]:
        """Words that use the header; where it cannot be precompiled, it is read as it is, and takes longer."""
        step = next((step for step in self._steps.compile if _INCLUDE in step.words), None)
        if step is None:
            return ()
        header = self._directory / "prefix.h"
        files.write_text(header, self._steps.prefix)
        common = (word for word in _without_prefix(step.words) if not word.startswith("-D") or self._is_common(word))
        self._run((*common, *self._variant.flags, "-x", "c-header", str(header), "-o", f"{header}.gch"), Leash())
        return (_INCLUDE, str(header))

    def _is_common(self, word: str) -> bool:
        """Whether all files are compiled with it: a precompiled header is not read where macros differ."""
        return all(word in step.words for step in self._steps.compile)

    def _run(self, words: tuple[str, ...], leash: Leash) -> Completed:
        return _run(self._steps, self._variant, words, leash)


def seat_core(chassis: Chassis, core: Path, source: Path, directory: Path) -> Path:
    """Put a core into a copy of the official wheel, with the version file that belongs to its source.

    Args:
        chassis: the unpacked official wheel; it stays as it is.
        core: the extension module.
        source: top directory of what it was compiled from.
        directory: where the copy goes; must not exist.

    Returns:
        The directory, which can go on `sys.path`.
    """
    shutil.copytree(chassis.root, directory, copy_function=_link_or_copy)
    files.write_bytes(directory / chassis.core.relative_to(chassis.root), core.read_bytes(), mode=0o755)
    version = next(source.glob(f"**/{chassis.package.name}/{VERSION_FILE}"), None)
    if version is not None:
        files.write_bytes(directory / chassis.package.name / VERSION_FILE, version.read_bytes())
    return directory


def _link_or_copy(source: str, target: str) -> None:
    """Nothing is written into these files: what differs is put in their place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _link(steps: CoreSteps, variant: Variant, objects: Mapping[str, Path], core: Path) -> Path:
    paths = {step.output: str(objects[step.source]) for step in steps.compile}
    words = (*(paths.get(word, word) for word in steps.link), *variant.linker, "-o", str(core))
    completed = _run(steps, variant, words, Leash())
    if completed.exit_code != 0:
        raise FailedError("the core cannot be linked", details=tuple(completed.stderr.splitlines()))
    return core


def _run(steps: CoreSteps, variant: Variant, words: tuple[str, ...], leash: Leash) -> Completed:
    argv = (*steps.compiler, *words)
    return run(argv, environment=steps.variables, directory=variant.source, check=False, leash=leash)


def _without_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words without the header that is put before every file."""
    if _INCLUDE not in words:
        return words
    place = words.index(_INCLUDE)
    return (*words[:place], *words[place + 2 :])
