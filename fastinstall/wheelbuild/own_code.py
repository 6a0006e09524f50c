"""Objects that are linked into a core beside its source's: marks of level and switches, and malloc's settings."""

from pathlib import Path

from fastinstall.compilers.flags import RECORD_SWITCHES
from fastinstall.core import files
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.process import ProcessGroup, run
from fastinstall.elf.cpu_levels import rank
from fastinstall.model.wheel_order import LevelTarget
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.kernel_sources import find_memory_source
from fastinstall.wheelbuild.plain_paths import path_flags

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


def assemble_marks(
    request: BuildRequest, target: LevelTarget, space: Path, process_group: ProcessGroup
) -> tuple[str, ...]:
    """Assemble the marks of level and switches that compiler and linker do not add themselves.

    Returns:
        The object, for the linker; empty if they add all of them.
    """
    wanted = next((level.ldflags for level in request.recipe.levels if level.name == target.level), ())
    level = target.level if wanted and not target.ldflags else ""
    recorded = RECORD_SWITCHES in target.cflags
    if recorded and not level:
        return ()
    source, marks = space / "marks.s", space / "marks.o"
    switches = "" if recorded else f"{request.compiler.version} {' '.join(target.cflags)}"
    files.write_text(source, mark_text(level, switches))
    argv = (*request.compiler.command, "-c", str(source), "-o", str(marks))
    run(argv, environment={**request.variables, "TMPDIR": str(space / "tmp")}, process_group=process_group)
    return (str(marks),)


def compile_memory(
    request: BuildRequest, target: LevelTarget, space: Path, process_group: ProcessGroup
) -> tuple[str, ...]:
    """Compile the code that lets malloc keep memory.

    Returns:
        The object, for the linker; empty if the recipe keeps no memory.
    """
    source = find_memory_source(request.recipe)
    if source is None:
        return ()
    made = space / "memory.o"
    flags = (*target.cflags, "-fPIC", *path_flags(source.parent))
    argv = (*request.compiler.command, *flags, "-c", str(source), "-o", str(made))
    run(argv, environment={**request.variables, "TMPDIR": str(space / "tmp")}, process_group=process_group)
    return (str(made),)
