"""Objects that are linked into a core beside its source's: marks of level and switches, and malloc's settings."""

from pathlib import Path

from fastinstall.compilers.flags import RECORD_SWITCHES
from fastinstall.core import files
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.process import ProcessGroup, run
from fastinstall.elf.cpu import rank
from fastinstall.model.artefact import LevelTarget
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.plain_paths import path_flags
from fastinstall.wheelbuild.prepare import find_memory_source

_LEVEL_MARK = """\
    .section .note.fastinstall.level, "a", @note
    .balign 8
    .long 4, 16, 5
    .asciz "GNU"
    .long {kind:#x}, 4, {bit}, 0
"""
"""GNU_PROPERTY_X86_ISA_1_NEEDED, in a section that LLVM's linker keeps: it has no `-z x86-64-v3`, and drops unknown
properties of .note.gnu.property. The loader reads it from any note (x86-64 psABI, "Program Property")."""
_SWITCHES_MARK = """\
    .section .GCC.command.line, "MS", @progbits, 1
    .asciz "{switches}"
"""
_MARKS_END = '    .section .note.GNU-stack, "", @progbits\n'

_WRAPPED = ("ImagingNew", "ImagingNewDirty")
"""Functions of Pillow that recipes/memory.c stands before: every large picture begins with one of them."""

_ISA_PROPERTIES = {level.name: each.isa_property for each in ARCHITECTURES for level in each.levels}


def mark_text(level: str, switches: str) -> str:
    """Return the marks of a level ("x86-64-v3") and of a compiler's switches in assembly; empty ones are omitted."""
    return "".join(
        (
            _LEVEL_MARK.format(kind=_ISA_PROPERTIES[level], bit=1 << rank(level) - 1) if level else "",
            _SWITCHES_MARK.format(switches=switches) if switches else "",
            _MARKS_END,
        )
    )


def compile_own_code(
    request: BuildRequest, target: LevelTarget, space: Path, process_group: ProcessGroup
) -> tuple[str, ...]:
    """Compile what the core of a level gets beside its source, and return objects and options for the linker.

    Args:
        space: the directory of the level, with a directory `tmp`.
    """
    objects: list[str] = []

    def compile_object(name: str, *words: str) -> None:
        argv = (*request.compiler.command, *words, "-o", str(space / name))
        run(argv, environment={**request.variables, "TMPDIR": str(space / "tmp")}, process_group=process_group)
        objects.append(str(space / name))

    # Compiler and linker add some of the marks themselves.
    wanted = next((level.ldflags for level in request.recipe.levels if level.name == target.level), ())
    level = target.level if wanted and not target.ldflags else ""
    switches = "" if RECORD_SWITCHES in target.cflags else f"{request.compiler.version} {' '.join(target.cflags)}"
    if level or switches:
        files.write_text(space / "marks.s", mark_text(level, switches))
        compile_object("marks.o", "-c", str(space / "marks.s"))
    memory = find_memory_source(request.recipe)
    if memory is None:
        return tuple(objects)
    compile_object("memory.o", *target.cflags, "-fPIC", *path_flags(memory.parent), "-c", str(memory))
    return (*objects, *(f"-Wl,--wrap={name}" for name in _WRAPPED))
