"""Compile our own code for a core: marks, malloc settings, and a header that is included before every C file.

Marks record a core's CPU level and the compiler's switches.

The header is precompiled, so that Python's headers and the compiler's intrinsics are parsed once per level instead of
once per C file. With AVX2, every file of Pillow's C extension includes <immintrin.h>, which takes half of the
compiler's time (GCC 12, x86-64-v3: 38 s of CPU time without precompiling, 21 s with it; the object files are
identical). <Python.h> takes another 0.07 s per file. clang 22 spends 0.30 s per file on both headers, 0.03 s if they
are precompiled. If the precompiled header does not match the flags of a file, GCC reads the plain header, so a build is
never slower. clang refuses to compile such a file, so nothing is precompiled for clang if setup.py adds CPU flags of
its own, as Pillow-SIMD's does.
"""

import re
from pathlib import Path

from fastinstall.compilers.flags import RECORD_SWITCHES
from fastinstall.core import files, foreign
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.process import ProcessGroup, run
from fastinstall.elf.cpu import rank
from fastinstall.model.artefact import LevelTarget
from fastinstall.wheelbuild.build_inputs import BuildRequest, path_flags
from fastinstall.wheelbuild.headers import Headers, include_flags
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
    """Return assembly that marks an object with a level ("x86-64-v3") and compiler switches; either may be empty."""
    mark = _LEVEL_MARK.format(kind=_ISA_PROPERTIES[level], bit=1 << rank(level) - 1) if level else ""
    return mark + (_SWITCHES_MARK.format(switches=switches) if switches else "") + _MARKS_END


def compile_own_code(
    request: BuildRequest, target: LevelTarget, space: Path, process_group: ProcessGroup
) -> tuple[str, ...]:
    """Compile our own objects for the core of a level, and return the linker's arguments that include them.

    Args:
        space: the level's directory, with a subdirectory `tmp`; the objects are written into it.
    """

    def compile_object(name: str, *words: str) -> str:
        argv = (*request.compiler.command, *words, "-o", str(space / name))
        run(argv, environment={**request.variables, "TMPDIR": str(space / "tmp")}, process_group=process_group)
        return str(space / name)

    # Add only the marks that neither the compiler nor the linker adds by itself.
    wanted = next((level.ldflags for level in request.recipe.levels if level.name == target.level), ())
    level = target.level if wanted and not target.ldflags else ""
    switches = "" if RECORD_SWITCHES in target.cflags else f"{request.compiler.version} {' '.join(target.cflags)}"
    objects: list[str] = []
    if level or switches:
        files.write_text(space / "marks.s", mark_text(level, switches))
        objects.append(compile_object("marks.o", "-c", str(space / "marks.s")))
    memory = find_memory_source(request.recipe)
    if memory is not None:
        words = (*target.cflags, "-fPIC", *path_flags(memory.parent), "-c", str(memory))
        objects += [compile_object("memory.o", *words), *(f"-Wl,--wrap={name}" for name in _WRAPPED)]
    return tuple(objects)


_PREFIX_NAME = "fastinstall_prefix.h"


_CPU_FLAG = re.compile(r"""["']-m[a-z]""")


_PYTHON = """\
#if __has_include(<Python.h>)
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#endif
"""
"""C files that use "#" in argument formats define PY_SSIZE_T_CLEAN themselves: without it, such formats fail at run
time since Python 3.10. For other files the macro changes nothing. Source: "Parsing arguments" in the C API manual."""


_OLDER_PYTHON = """\
#if __has_include(<pyconfig.h>)
#include <pyconfig.h>
#endif
"""
"""Includes pyconfig.h first, as Python.h does, because its feature macros change the declarations of the C library."""


_INTRINSICS = """\
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE4_2__)
#include <nmmintrin.h>
#endif
"""


def precompile_prefix_header(
    request: BuildRequest,
    target: LevelTarget,
    headers: Headers,
    source: Path,
    process_group: ProcessGroup | None = None,
) -> tuple[str, ...]:
    """Precompile the prefix header, if the compiler is GCC or clang.

    Args:
        target: the level, with its flags.
        source: top directory of the unpacked source, in which the build runs.
        process_group: stops this compiler when the compilation of another level fails.

    Returns:
        Compiler flags that include the header; empty if no header is precompiled. They contain no path, because it
        would get into the output.
    """
    if not (headers.gcc or (headers.clang and not _CPU_FLAG.search(foreign.text_or_empty(source / "setup.py")))):
        return ()
    precompiled = "gch" if headers.gcc else "pch"
    header = source / _PREFIX_NAME
    minor = tuple(int(part) for part in request.interpreter.version.split(".")[:2])
    python = _PYTHON if minor >= (3, 10) else _OLDER_PYTHON
    files.write_text(header, f"/* fastinstall includes this before every file. */\n{python}{_INTRINSICS}")
    include = include_flags((*headers.directories, request.interpreter.include))
    flags = ("-pthread", *target.cflags, "-fPIC", *include)
    argv = (*request.compiler.command, *flags, "-x", "c-header", str(header), "-o", f"{header}.{precompiled}")
    run(argv, environment=request.variables, check=False, process_group=process_group)
    return "-include", _PREFIX_NAME
