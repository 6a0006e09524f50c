"""Parse Python's headers and the compiler's intrinsics once for a level, instead of once for each C file.

With AVX2 on, every file of the imaging core includes <immintrin.h>, and that alone is half of the
compiler's time (GCC 12, x86-64-v3: 38 s of CPU time without this, 21 s with it, and the object files
are the same to the byte); <Python.h> is another 0.07 s of each file. GCC reads the plain header
wherever the precompiled one does not fit the flags of a file, so this can only make a build quicker.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from fastinstall.build.headers import Headers, include_flags
from fastinstall.build.request import BuildRequest
from fastinstall.model.steps import Target
from fastinstall.system import files
from fastinstall.system.process import run

_NAME = "fastinstall_prefix.h"
_CLEAN = (3, 10)
_PYTHON = """\
#if __has_include(<Python.h>)
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#endif
"""
"""As files that use "#" in the formats of arguments do themselves: without the macro, those formats are an error at run
time since Python 3.10, so it changes nothing for the others. Source: "Parsing arguments" in Python's C API manual."""

_OLDER_PYTHON = """\
#if __has_include(<pyconfig.h>)
#include <pyconfig.h>
#endif
"""
"""What Python.h includes first, for its feature macros change what the C library declares."""

_INTRINSICS = """\
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE4_2__)
#include <nmmintrin.h>
#endif
"""


@contextmanager
def precompiled(request: BuildRequest, target: Target, headers: Headers, source: Path) -> Iterator[tuple[str, ...]]:
    """Precompile the prefix header in the background, while pip prepares the build.

    Args:
        request: the build.
        target: the level, with its flags.
        headers: as found.
        source: the unpacked source, where the build runs.

    Yields:
        The flags that use the header, without a path so that none gets into the binary; empty with
        another compiler than GCC.
    """
    if not headers.gcc:
        yield ()
        return
    files.write_text(source / _NAME, _text(request.interpreter.version))
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(_precompile, request, target, headers, source)
        yield "-include", _NAME


def _text(python: str) -> str:
    version = tuple(int(part) for part in python.split(".")[:2])
    first = _PYTHON if version >= _CLEAN else _OLDER_PYTHON
    return f"/* Put before every file by fastinstall. */\n{first}{_INTRINSICS}"


def _precompile(request: BuildRequest, target: Target, headers: Headers, source: Path) -> None:
    """Write it beside its place and rename it, so that no compiler reads half of it."""
    unfinished = source / f"{_NAME}.unfinished"
    include = include_flags((*headers.directories, Path(request.interpreter.include)))
    flags = ("-pthread", *target.cflags, "-fPIC", *include)
    argv = (*request.compiler.command, *flags, "-x", "c-header", str(source / _NAME), "-o", str(unfinished))
    if run(argv, environment=request.variables, check=False).exit_code == 0:
        os.replace(unfinished, source / f"{_NAME}.gch")
