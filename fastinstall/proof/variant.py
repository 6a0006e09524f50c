"""An imaging core compiled otherwise than it is shipped: with sanitizers, unoptimised, or from another source.

It is linked to the libraries of the official wheel and put into a copy of it, so it runs like the real one.

Its commands are those of the real build, whatever the backend decides, with words added to them. They are recorded by
running the build once with a compiler that only takes notes.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from fastinstall.core import files
from fastinstall.core.concurrency import await_future
from fastinstall.core.errors import FailedError
from fastinstall.core.events import ignore
from fastinstall.core.process import Completed, ProcessGroup, run
from fastinstall.core.values import immutable
from fastinstall.model.artefact import LevelTarget
from fastinstall.proof.runs import ProofStack
from fastinstall.wheelbuild.assemble import BuildInputs
from fastinstall.wheelbuild.base_wheel import CORE, VERSION_FILE, BaseWheel
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile_levels import compile_levels
from fastinstall.wheelbuild.headers.probe import probe_headers
from fastinstall.wheelbuild.linking import LinkLocation
from fastinstall.wheelbuild.pipeline import BuildSite, prepare_build_inputs
from fastinstall.wheelbuild.source_archive import extract_source
from fastinstall.wheelbuild.variables import remove_stray_variables

_LEVEL = "recorded"
_NOTES = "notes"
_INCLUDE = "-include"
_SCRIPT = """\
#!/bin/sh
# Notes what it is told to compile or to link, and leaves empty files; all else is done by the real compiler.
case " $* " in
*" -c "* | *" -shared "*) ;;
*) exec {compiler} "$@" ;;
esac
printf '%s\\0' "$@" > {notes}/$$
while [ $# -gt 1 ]; do
    if [ "$1" = -o ]; then : > "$2"; fi
    shift
done
"""


@immutable
class RecordedCompilation:
    """How one C file is compiled.

    Attributes:
        source: relative to the source's top directory, which is the working directory.
        words: for the compiler, without the file and without `-o`.
        output: of the object, as the link step names it.
    """

    source: str
    words: tuple[str, ...]
    output: str


@immutable
class CoreSteps:
    """How an imaging core is compiled and linked.

    Attributes:
        compiler: the words that start the compiler.
        variables: the environment of its processes.
        compile: one for each C file.
        link: words for the compiler, objects among them, without `-o`.
        prefix: the text of the header that is put before every file; empty if none is.
        jobs: parallel compile jobs.
        gcc: whether the compiler is GCC itself.
    """

    compiler: tuple[str, ...]
    variables: dict[str, str]
    compile: tuple[RecordedCompilation, ...]
    link: tuple[str, ...]
    prefix: str
    jobs: int
    gcc: bool


def record_steps(work: BuildInputs, base_wheel: BaseWheel, target: LevelTarget) -> CoreSteps:
    """Learn how the core of one level is compiled, to lie in the place of the official wheel's.

    Args:
        work: of the build.
        base_wheel: the unpacked official wheel.
        target: the level; its linker flags, which mark a file with the level, are kept.

    Raises:
        FailedError: the build's backend fails, or compiles no imaging core.
    """
    space = work.build_context.space / _LEVEL
    notes = space / _NOTES
    notes.mkdir(parents=True)
    request = _record_compilations(work.build_context.request, target, space, notes)
    build_context = replace(work.build_context, request=request, space=space, log=space / "log")
    (compiled_level,) = compile_levels(build_context, {target.level: LinkLocation(run_path=base_wheel.run_path)})
    noted = [tuple(path.read_text("utf-8").split("\0")[:-1]) for path in sorted(notes.iterdir())]
    compiled, link = tuple(_parse_compilations(noted)), _find_link_command(noted)
    archived, linking = _group_archived_objects(compiled, link, noted, compiled_level.source)
    named = (dict(pairwise(words)).get(_INCLUDE) for words in noted)
    header = next((compiled_level.source / name for name in named if name), None)
    used = (*(step for step in compiled if step.output in link), *archived)
    return CoreSteps(
        compiler=work.build_context.request.compiler.command,
        variables={**work.build_context.request.variables, "LC_ALL": "C"},
        compile=tuple(sorted(used, key=lambda step: -(compiled_level.source / step.source).stat().st_size)),
        link=(*(word for word in link if word not in linking), *(step.output for step in archived)),
        prefix=header.read_text("utf-8") if header is not None and header.is_file() else "",
        jobs=work.build_context.request.step.jobs,
        gcc=work.build_context.headers.gcc,
    )


def _record_compilations(request: BuildRequest, target: LevelTarget, space: Path, notes: Path) -> BuildRequest:
    script = space / "compiler"
    text = _SCRIPT.format(compiler=shlex.join(request.compiler.command), notes=shlex.quote(str(notes)))
    files.write_text(script, text, mode=0o755)
    compiler, step = replace(request.compiler, command=(str(script),)), replace(request.step, targets=(target,))
    return replace(request, step=step, compiler=compiler, emit=ignore)


def _parse_compilations(noted: list[tuple[str, ...]]) -> Iterator[RecordedCompilation]:
    for words in noted:
        following = dict(pairwise(words))
        if following.get("-c", "").endswith(".c"):
            source, output = following["-c"], following["-o"]
            kept = tuple(word for word in words if word not in (source, output, "-c", "-o"))
            yield RecordedCompilation(source=source, words=kept, output=output)


def _find_link_command(noted: list[tuple[str, ...]]) -> tuple[str, ...]:
    for words in noted:
        output = dict(pairwise(words)).get("-o", "")
        if "-shared" in words and Path(output).name.startswith(f"{CORE}."):
            return tuple(word for word in words if word not in (output, "-o"))
    raise FailedError(f"the build links no {CORE}: its compile commands are unknown")


def _group_archived_objects(
    compiled: tuple[RecordedCompilation, ...], link: tuple[str, ...], noted: list[tuple[str, ...]], source: Path
) -> tuple[tuple[RecordedCompilation, ...], set[str]]:
    """What the build puts into static libraries of its own, and the words that link them.

    These objects, from which no module is linked, know nothing of Python, so nothing of it is put before them.
    """
    words = {f"-l{path.stem.removeprefix('lib')}" for path in source.glob("**/lib*.a")}.intersection(link)
    if not words:
        return (), words
    linked = {word for words in noted if "-shared" in words for word in words}
    steps = (step for step in compiled if step.output not in linked)
    return tuple(replace(step, words=_drop_prefix_header(step.words)) for step in steps), words


def _drop_prefix_header(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words without the header that is put before every file."""
    return tuple(word for previous, word in pairwise(("", *words)) if _INCLUDE not in (previous, word))


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
    bench = Bench(replace(steps, compile=wanted), variant, directory)
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


class Bench:
    """Compiles the files of one variant."""

    def __init__(self, steps: CoreSteps, variant: SanitizedVariant, directory: Path) -> None:
        """Precompile the header that is put before every file; if that fails, it is read as it is, and takes longer."""
        self._steps = steps
        self._variant = variant
        self._prefix: tuple[str, ...] = ()
        directory.mkdir(parents=True, exist_ok=True)
        with_header = next((step for step in steps.compile if _INCLUDE in step.words), None)
        if with_header is not None and steps.gcc:  # clang refuses to compile where the flags of a file differ
            header = directory / "prefix.h"
            files.write_text(header, steps.prefix)
            self._prefix = (_INCLUDE, str(header))
            # It is not read where macros differ: only those that all files are compiled with.
            everywhere = set.intersection(*(set(step.words) for step in steps.compile))
            words = _drop_prefix_header(with_header.words)
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
        prefix = self._prefix if _INCLUDE in step.words else ()
        words = (*_drop_prefix_header(step.words), *self._variant.flags, *prefix, "-c", step.source, *output)
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


_CODE = ("src",)


@immutable
class BuildTree:
    """A build, taken apart.

    Attributes:
        work: everything that was ready before it was compiled.
        steps: how the core of one level is compiled.
        source: top directory of what is compiled.
        stock: top directory of upstream's own source; None if a fork is built as it is, and it is not at hand.
        base_wheel: the unpacked official wheel.
        space: a temporary directory.
    """

    work: BuildInputs
    steps: CoreSteps
    source: Path
    stock: Path | None
    base_wheel: BaseWheel
    space: Path

    def stack(self, name: str, variant: SanitizedVariant) -> ProofStack:
        """Compile a variant, and put it where it can be run.

        Args:
            name: of its directory, and for messages.
            variant: what is different.

        Raises:
            FailedError: it does not compile.
        """
        core = compile_core(self.steps, variant, self.space / name / "objects")
        tree = install_core_in_copy(self.base_wheel, core.path, variant.source, self.space / name / "tree")
        request = self.work.build_context.request
        python = Path(request.interpreter.executable)
        return ProofStack(label=name, python=python, tree=tree, variables=request.variables)


def open_build_tree(request: BuildRequest, level: str, space: Path) -> BuildTree | None:
    """Prepare a build once more, up to where it is compiled.

    Args:
        request: the build.
        level: of the core that is looked at.
        space: an empty directory.

    Returns:
        None if no official wheel carries the core.

    Raises:
        FailedError: it cannot be prepared.
    """
    request = replace(request, variables=remove_stray_variables(request.variables)[0])
    headers = probe_headers(request)
    work = prepare_build_inputs(
        BuildSite(request=request, headers=headers, space=space, plain=space, key="proof", log=space / "log")
    )
    if work.base_wheel is None:
        return None
    target = next(target for target in request.step.targets if target.level == level)
    return BuildTree(
        work=work,
        steps=record_steps(work, work.base_wheel, target),
        source=work.build_context.source,
        stock=extract_source(request.source, space / "stock", only=_CODE) if request.recipe.is_exact else None,
        base_wheel=work.base_wheel,
        space=space,
    )
