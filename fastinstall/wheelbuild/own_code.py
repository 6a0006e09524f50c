"""Compile our own objects for a core: marks that record its level and the compiler's switches, and malloc settings."""

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
"""GNU_PROPERTY_X86_ISA_1_NEEDED in a section of our own. LLVM's linker has no `-z x86-64-v3`, and drops the property
from .note.gnu.property. The loader reads the property from any note (x86-64 psABI, "Program Property")."""
_SWITCHES_MARK = """\
    .section .GCC.command.line, "MS", @progbits, 1
    .asciz "{switches}"
"""
_MARKS_END = '    .section .note.GNU-stack, "", @progbits\n'

_WRAPPED = ("ImagingNew", "ImagingNewDirty")
"""Functions of Pillow that recipes/memory.c wraps: they allocate every large image."""

_ISA_PROPERTIES = {level.name: each.isa_property for each in ARCHITECTURES for level in each.levels}


def mark_text(level: str, switches: str) -> str:
    """Return assembly that marks an object with a level ("x86-64-v3") and compiler switches; "" adds no mark."""
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
    """Compile our own objects for the core of a level, and return the linker's arguments that include them.

    Args:
        space: the directory of the level, with a subdirectory `tmp`.
    """
    objects: list[str] = []

    def compile_object(name: str, *words: str) -> None:
        argv = (*request.compiler.command, *words, "-o", str(space / name))
        run(argv, environment={**request.variables, "TMPDIR": str(space / "tmp")}, process_group=process_group)
        objects.append(str(space / name))

    # Marks that the compiler or the linker adds by itself are left out.
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
