"""How a build compiles its imaging core, word for word: the build runs once with a compiler that only takes notes.

So every variant is compiled by the very commands of the real build, whatever its backend decides, with
words added to them. Nothing is compiled here.
"""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from fastinstall.build.chassis import CORE, Chassis
from fastinstall.build.groundwork import Groundwork
from fastinstall.build.lanes import compile_lanes
from fastinstall.build.linking import Place
from fastinstall.build.request import BuildRequest
from fastinstall.errors import FailedError
from fastinstall.model.event import ignore
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import Target
from fastinstall.system import files

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
class CompileStep:
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
        prefix: the text of the header that is put before every file; empty where none is.
        jobs: parallel compile jobs.
    """

    compiler: tuple[str, ...]
    variables: dict[str, str]
    compile: tuple[CompileStep, ...]
    link: tuple[str, ...]
    prefix: str
    jobs: int


def record_steps(work: Groundwork, chassis: Chassis, target: Target) -> CoreSteps:
    """Learn how the core of one level is compiled, to lie in the place of the official wheel's.

    Args:
        work: of the build.
        chassis: the unpacked official wheel.
        target: the level; its linker flags, which mark a file with the level, are kept.

    Raises:
        FailedError: the build's backend fails, or compiles no imaging core.
    """
    space = work.ground.space / _LEVEL
    notes = space / _NOTES
    notes.mkdir(parents=True)
    request = _recording(work.ground.request, target, space, notes)
    ground = replace(work.ground, request=request, space=space, log=space / "log")
    (lane,) = compile_lanes(ground, {target.level: Place(run_path=chassis.run_path)})
    noted = [tuple(path.read_text("utf-8").split("\0")[:-1]) for path in sorted(notes.iterdir())]
    compiled, link = tuple(_compiled(noted)), _link(noted)
    archived = _archived(compiled, link, noted, lane.source)
    header = lane.source / _included(noted)
    used = (step for step in compiled if step.output in link)
    return CoreSteps(
        compiler=work.ground.request.compiler.command,
        variables={**work.ground.request.variables, "LC_ALL": "C"},
        compile=_longest_first((*used, *archived.steps), lane.source),
        link=(*(word for word in link if word not in archived.words), *(step.output for step in archived.steps)),
        prefix=header.read_text("utf-8") if header.is_file() else "",
        jobs=work.ground.request.step.jobs,
    )


def _recording(request: BuildRequest, target: Target, space: Path, notes: Path) -> BuildRequest:
    script = space / "compiler"
    compiler = request.compiler
    text = _SCRIPT.format(compiler=shlex.join(compiler.command), notes=shlex.quote(str(notes)))
    files.write_text(script, text, mode=0o755)
    step = replace(request.step, targets=(target,))
    return replace(request, step=step, compiler=replace(compiler, command=(str(script),)), emit=ignore)


def _compiled(noted: list[tuple[str, ...]]) -> Iterator[CompileStep]:
    for words in noted:
        following = dict(pairwise(words))
        if "-c" in following and following["-c"].endswith(".c"):
            paths = (following["-c"], following["-o"])
            kept = tuple(word for word in words if word not in (*paths, "-c", "-o"))
            yield CompileStep(source=paths[0], words=kept, output=paths[1])


def _link(noted: list[tuple[str, ...]]) -> tuple[str, ...]:
    for words in noted:
        output = dict(pairwise(words)).get("-o", "")
        if "-shared" in words and Path(output).name.startswith(f"{CORE}."):
            return tuple(word for word in words if word not in (output, "-o"))
    raise FailedError(f"the build links no {CORE}: its compile commands cannot be learnt")


@immutable
class _Archived:
    """What the build puts into static libraries of its own, and the words that link them."""

    steps: tuple[CompileStep, ...] = ()
    words: frozenset[str] = frozenset()


def _archived(
    compiled: tuple[CompileStep, ...], link: tuple[str, ...], noted: list[tuple[str, ...]], source: Path
) -> _Archived:
    """Objects that no module is linked from; they know nothing of Python, so nothing of it is put before them."""
    words = {f"-l{path.stem.removeprefix('lib')}" for path in source.glob("**/lib*.a")}.intersection(link)
    if not words:
        return _Archived()
    linked = {word for words in noted if "-shared" in words for word in words}
    steps = (step for step in compiled if step.output not in linked)
    return _Archived(steps=tuple(replace(step, words=_plain(step.words)) for step in steps), words=frozenset(words))


def _plain(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words without the header that is put before every file."""
    return tuple(word for previous, word in pairwise(("", *words)) if _INCLUDE not in (previous, word))


def _longest_first(steps: Iterable[CompileStep], source: Path) -> tuple[CompileStep, ...]:
    """The largest files first, so that no processor is left with one at the end."""
    return tuple(sorted(steps, key=lambda step: -(source / step.source).stat().st_size))


def _included(noted: list[tuple[str, ...]]) -> str:
    """The header that is put before every file; a name that is not there where none is."""
    return next((dict(pairwise(words))[_INCLUDE] for words in noted if _INCLUDE in words), "no-header")
