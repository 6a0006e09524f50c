"""The imaging core, `PIL/_imaging*.so`, from its file alone: what it is, what it would load, what is wrong with it.

A core may have copies, one per CPU level, and a stub in its place, which asks for a library by name. The loader finds
that below the level directories of glibc-hwcaps or, for every other CPU and every loader before glibc 2.33, beside
them. The copy that counts is the one that the simulated loader takes.
"""

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.elf import symbols as symbol_tables
from fastinstall.elf.description import CoreLevel, ImagingCore
from fastinstall.elf.dynamic import DynamicFile, read_dynamic
from fastinstall.elf.image import ElfError, open_image, read_file_bytes
from fastinstall.elf.libraries import describe_jpeg
from fastinstall.elf.loader.simulation import ResolvedLibrary, resolve_libraries

_VERSION = re.compile(rb"\0(\d+\.\d+\.\d+(?:\.post\d+|\.dev\d+)?)(?=\0)")


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


def read_core(
    path: Path,
    symbols: tuple[str, ...],
    *,
    main: Path | None,
    hwcaps: tuple[str, ...],
    library_path: tuple[Path, ...] = (),
    expected_version: str | None = None,
) -> ImagingCore:
    """Read the core; a damaged or missing file is an `ImagingCore` that is not readable, never an exception.

    Args:
        path: the core, or a stub in its place whose code the loader picks among several copies.
        symbols: which to look for (a recipe's `expect.symbols`).
        main: the interpreter that would load it.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first.
        library_path: the directories of LD_LIBRARY_PATH.
        expected_version: what `PIL/_version.py` says, to be told from the versions of libraries.
    """
    seen = ImagingCore(path=path, size=0, mtime_ns=0, sha256="", readable=False)
    try:
        modified, content = path.stat().st_mtime_ns, read_file_bytes(path)
        digest = hashlib.sha256(content).hexdigest()
        seen = replace(seen, size=len(content), mtime_ns=modified, sha256=digest)
        file = _read_own_machine(path, main)
        stub = read_stub(path)
        resolved = resolve_libraries(path, main=main, library_path=library_path, hwcaps=hwcaps)
        code, code_path = "", path
        if stub is None:
            defined = symbol_tables.find_defined_names(path, symbols)
            simd_symbols = tuple(symbol for symbol in symbols if symbol in defined)
            share, isa_note = symbol_tables.measure_unoptimised_share(path), file.isa_needed
        else:
            code, found = stub.code, next((each for each in resolved if each.soname == stub.code), None)
            seen = replace(seen, levels=read_levels(stub, found.path if found else None, symbols))
            copy = _choose_copy(seen, stub, found)
            simd_symbols, share, isa_note = copy.simd_symbols, copy.unoptimised_share, copy.isa_note
            code_path = Path(copy.path)
        with open_image(code_path) as image:
            constants = image.constants()
        return replace(
            seen,
            readable=True,
            simd_symbols=simd_symbols,
            unoptimised_share=share,
            isa_note=isa_note,
            version=_choose_version(constants, expected_version),
            switches=symbol_tables.compiler_switches(code_path),
            libraries=tuple(describe_jpeg(each.soname, each.path) for each in resolved if each.soname != code),
        )
    except OSError as error:
        return replace(seen, problem=f"cannot be read: {error.strerror or error}")
    except ElfError as error:
        return replace(seen, problem=error.problem)


def _choose_copy(core: ImagingCore, stub: Stub, found: ResolvedLibrary | None) -> CoreLevel:
    """Return the copy that the loader would take, by which a stub is described.

    Raises:
        ElfError: it would find none, or none that can take the core's place.
    """
    copy = next((copy for copy in core.levels if copy.loaded), None)
    if copy is None:
        searched = found.problem if found is not None else "not found"
        raise ElfError(stub.path, f"a stub without its code, {stub.code}: {searched}")
    if copy.problem:
        raise ElfError(stub.path, f"a stub with unusable code, {copy.path}: {copy.problem}")
    return copy


def _read_own_machine(path: Path, main: Path | None) -> DynamicFile:
    """Read a file, which has to be for what the interpreter is for; for this machine where that does not say."""
    file, machine = read_dynamic(path), os.uname().machine
    with suppress(OSError, ElfError):
        machine = read_dynamic(main).machine if main is not None else machine
    if file.machine != machine:
        raise ElfError(path, f"built for {file.machine}, not for {machine}")
    return file


def _choose_version(content: bytes, expected: str | None) -> str:
    """Return the version string compiled in.

    A core holds its own version and those of libraries it was compiled against, in no certain order.
    A fork's has ".post"; else Pillow's is the highest (it has been above 9 since 2022, they are below).
    """
    versions = [match.decode("ascii") for match in _VERSION.findall(content)]
    if expected is not None and expected in versions:
        return expected
    return max(versions, key=_rank, default="")


def _rank(version: str) -> tuple[bool, tuple[int, ...]]:
    release = re.split(r"\.(?:post|dev)", version)[0]
    return ".post" in version, tuple(int(part) for part in release.split("."))


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
