"""A core that is only a stub, and the copies of the code behind it: one per CPU level, of which the loader takes one.

The stub asks for a library of a certain name; the loader finds it below the level directories of
glibc-hwcaps or, for every other CPU and every loader before glibc 2.33, beside them. Which one it takes
here is the model of the loader's to say.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fastinstall.binary.dynamic import DynamicFile, ElfError, read_dynamic
from fastinstall.binary.image import read_whole
from fastinstall.binary.symbols import defined_among, unoptimised_share
from fastinstall.model.core import CoreLevel
from fastinstall.model.immutable import immutable

CODE_PREFIX = "lib_imaging_core-"
"""How the soname of the code behind a stub begins; the rest tells one wheel's from another's."""

ENTRY = "PyInit__imaging"
BASELINE = "baseline"
LEVEL_DIRECTORIES = "glibc-hwcaps"


@immutable
class Stub:
    """A file that takes the core's place and holds none of its code.

    Attributes:
        path: the file.
        file: its dynamic section.
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
    """Every copy of the code behind a stub, the baseline first, even where it is missing.

    Args:
        stub: the stub.
        loaded: the copy that the loader would take here, or None if it finds none.
        symbols: which to look for.
    """
    home = _home(stub, loaded)
    places = (home / stub.code, *_of_levels(home, stub.code))
    return tuple(_copy(stub, path, symbols, loaded=path == loaded) for path in places)


def _home(stub: Stub, loaded: Path | None) -> Path:
    """The directory of the baseline: where the copy that is loaded belongs to, else where the stub looks first."""
    if loaded is not None:
        above = loaded.parent.parent
        return above.parent if above.name == LEVEL_DIRECTORIES else loaded.parent
    search = stub.file.runpath or stub.file.rpath or "$ORIGIN"
    first = (
        search.partition(":")[0].replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", str(stub.path.parent.absolute()))
    )
    return Path(os.path.normpath(first))


def _of_levels(home: Path, code: str) -> Iterator[Path]:
    try:
        directories = sorted((home / LEVEL_DIRECTORIES).iterdir())
    except OSError:
        return
    yield from (directory / code for directory in directories if os.path.lexists(directory / code))


def _copy(stub: Stub, path: Path, symbols: tuple[str, ...], *, loaded: bool) -> CoreLevel:
    level = path.parent.name if path.parent.parent.name == LEVEL_DIRECTORIES else BASELINE
    copy = CoreLevel(level=level, path=path, sha256="", loaded=loaded)
    try:
        copy = replace(copy, sha256=hashlib.sha256(read_whole(path)).hexdigest())
        return _described(copy, stub, symbols)
    except FileNotFoundError:
        return replace(copy, problem="it is missing")
    except OSError as error:
        return replace(copy, problem=f"it cannot be read: {error.strerror or error}")
    except ElfError as error:
        return replace(copy, problem=error.problem)


def _described(copy: CoreLevel, stub: Stub, symbols: tuple[str, ...]) -> CoreLevel:
    path = Path(copy.path)
    file, defined = read_dynamic(path), defined_among(path, (*symbols, ENTRY))
    return replace(
        copy,
        level=(file.isa_needed or BASELINE) if copy.level == BASELINE else copy.level,
        simd_symbols=tuple(symbol for symbol in symbols if symbol in defined),
        unoptimised_share=unoptimised_share(path),
        isa_note=file.isa_needed,
        problem=_problem(file, stub, defined),
    )


def _problem(file: DynamicFile, stub: Stub, defined: frozenset[str]) -> str:
    if file.machine != stub.file.machine:
        return f"built for {file.machine}, not for {stub.file.machine}"
    if file.soname != stub.code:
        return f"its soname is {file.soname or 'missing'}, not {stub.code}"
    return "" if ENTRY in defined else f"it does not define {ENTRY}"
