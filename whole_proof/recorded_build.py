"""Record the commands that compile and link the imaging core of a build, whatever its build backend.

The build is run once with a script instead of the compiler. The script records its arguments and creates empty files.
"""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.events import ignore
from fastinstall.core.values import immutable
from fastinstall.model.artefact import LevelTarget
from fastinstall.wheelbuild.base_wheel import CORE, BaseWheel, location_flags
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile import BuildContext, compile_levels

_LEVEL = "recorded"
_NOTES = "notes"
INCLUDE = "-include"
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
    """The command that compiles one C file.

    Attributes:
        source: path of the file relative to the source's top directory, which is the working directory.
        words: arguments of the compiler, without the C file, `-c`, and `-o` with the object.
        output: path of the object, written as in the link command.
    """

    source: str
    words: tuple[str, ...]
    output: str


@immutable
class CoreSteps:
    """The commands that compile and link an imaging core.

    Attributes:
        compiler: the command of the compiler, without arguments.
        variables: the environment variables of the compiler's processes.
        compile: the compilations, one for each C file.
        link: arguments of the compiler for linking, including the objects, but without `-o` and its file.
        prefix: content of the header that every file includes first (`-include`); empty if there is none.
        jobs: number of parallel compile jobs.
        gcc: whether the compiler is GCC.
    """

    compiler: tuple[str, ...]
    variables: dict[str, str]
    compile: tuple[RecordedCompilation, ...]
    link: tuple[str, ...]
    prefix: str
    jobs: int
    gcc: bool


def record_steps(work: BuildContext, base_wheel: BaseWheel, target: LevelTarget) -> CoreSteps:
    """Record how a core for one CPU level, which can replace the official wheel's core, is compiled and linked.

    Args:
        work: the prepared build.
        base_wheel: the unpacked official wheel.
        target: the CPU level. Its linker flags, which mark a core with the level, are recorded, too.

    Raises:
        FailedError: the build's backend fails, or compiles no imaging core.
    """
    space = work.space / _LEVEL
    notes = space / _NOTES
    notes.mkdir(parents=True)
    request = _record_compilations(work.request, target, space, notes)
    context = replace(work, request=request, space=space, log=space / "log")
    (compiled_level,) = compile_levels(context, {target.level: location_flags(base_wheel.run_path)})
    noted = [tuple(path.read_text("utf-8").split("\0")[:-1]) for path in sorted(notes.iterdir())]
    compiled, link = tuple(_parse_compilations(noted)), _find_link_command(noted)
    archived, linking = _group_archived_objects(compiled, link, noted, compiled_level.source)
    named = (dict(pairwise(words)).get(INCLUDE) for words in noted)
    header = next((compiled_level.source / name for name in named if name), None)
    used = (*(step for step in compiled if step.output in link), *archived)
    return CoreSteps(
        compiler=work.request.compiler.command,
        variables={**work.request.variables, "LC_ALL": "C"},
        compile=tuple(sorted(used, key=lambda step: -(compiled_level.source / step.source).stat().st_size)),
        link=(*(word for word in link if word not in linking), *(step.output for step in archived)),
        prefix=header.read_text("utf-8") if header is not None and header.is_file() else "",
        jobs=work.request.step.jobs,
        gcc=work.headers.gcc,
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
    """Return the compilations for the build's own static libraries, and the words of `link` that link these libraries.

    The objects of these libraries are those that no extension module links directly. They do not use Python, so the
    prefix header is removed from their commands.
    """
    words = {f"-l{path.stem.removeprefix('lib')}" for path in source.glob("**/lib*.a")}.intersection(link)
    if not words:
        return (), words
    linked = {word for words in noted if "-shared" in words for word in words}
    steps = (step for step in compiled if step.output not in linked)
    return tuple(replace(step, words=drop_prefix_header(step.words)) for step in steps), words


def drop_prefix_header(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return compiler arguments without `-include` and its header."""
    return tuple(word for previous, word in pairwise(("", *words)) if INCLUDE not in (previous, word))
