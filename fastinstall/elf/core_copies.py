"""The copies of an imaging core, one per CPU level, and the stub that stands in their place.

The stub asks for a library by name; the loader finds it below the level directories of glibc-hwcaps or, for every other
CPU and every loader before glibc 2.33, beside them.
"""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.elf import symbols as symbol_tables
from fastinstall.elf.description import CoreLevel
from fastinstall.elf.dynamic import DynamicFile, read_dynamic
from fastinstall.elf.image import ElfError, read_file_bytes

CODE_PREFIX = "lib_imaging_core-"
"""How the soname of the code behind a stub begins; the rest tells one wheel's from another's."""

ENTRY = "PyInit__imaging"

BASELINE = "baseline"

LEVEL_DIRECTORIES = "glibc-hwcaps"


@immutable
class Stub:
    """A file that takes the core's place and holds none of its code.

    Attributes:
        path: where the core is expected.
        file: what it tells the dynamic loader.
        code: the soname that it asks for.
    """

    path: Path
    file: DynamicFile
    code: str


def read_stub(path: Path) -> Stub | None:
    """Read the stub of a core, or return None if the core holds the code itself.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    file = read_dynamic(path)
    code = next((name for name in file.needed if name.startswith(CODE_PREFIX)), None)
    return Stub(path=path, file=file, code=code) if code is not None else None


def read_levels(stub: Stub, loaded: Path | None, symbols: tuple[str, ...]) -> tuple[CoreLevel, ...]:
    """Describe every copy of the code behind a stub, the baseline first, even where it is missing.

    Args:
        stub: as `read_stub` found it.
        loaded: the copy that the loader would take here, or None if it finds none.
        symbols: which to look for.
    """
    if loaded is not None:  # the baseline is where that copy belongs to
        above = loaded.parent.parent
        home = above.parent if above.name == LEVEL_DIRECTORIES else loaded.parent
    else:  # where the stub looks first
        first = (stub.file.runpath or stub.file.rpath or "$ORIGIN").partition(":")[0]
        origin = str(stub.path.parent.absolute())
        home = Path(os.path.normpath(first.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)))
    names = foreign.list_names(home / LEVEL_DIRECTORIES)
    copies = (home / LEVEL_DIRECTORIES / name / stub.code for name in names)
    places = (home / stub.code, *(copy for copy in copies if os.path.lexists(copy)))
    return tuple(_describe_copy(stub, path, symbols, loaded=path == loaded) for path in places)


def _describe_copy(stub: Stub, path: Path, symbols: tuple[str, ...], *, loaded: bool) -> CoreLevel:
    level = path.parent.name if path.parent.parent.name == LEVEL_DIRECTORIES else ""
    copy = CoreLevel(level=level or BASELINE, path=path, sha256="", loaded=loaded)
    try:
        copy = replace(copy, sha256=hashlib.sha256(read_file_bytes(path)).hexdigest())
        file, defined = read_dynamic(path), symbol_tables.find_defined_names(path, (*symbols, ENTRY))
        problem = "" if ENTRY in defined else f"it does not define {ENTRY}"
        if file.machine != stub.file.machine:
            problem = f"built for {file.machine}, not for {stub.file.machine}"
        elif file.soname != stub.code:
            problem = f"its soname is {file.soname or 'missing'}, not {stub.code}"
        return replace(
            copy,
            level=level or file.isa_needed or BASELINE,
            simd_symbols=tuple(symbol for symbol in symbols if symbol in defined),
            unoptimised_share=symbol_tables.measure_unoptimised_share(path),
            isa_note=file.isa_needed,
            problem=problem,
        )
    except FileNotFoundError:
        return replace(copy, problem="it is missing")
    except OSError as error:
        return replace(copy, problem=f"it cannot be read: {error.strerror or error}")
    except ElfError as error:
        return replace(copy, problem=error.problem)
