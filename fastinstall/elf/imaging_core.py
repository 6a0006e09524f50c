"""Describe the imaging core, `PIL/_imaging*.so`, from its file alone: its build, its libraries and its defects.

`read_core` reads the data that doctor's checks judge. `describe_making` adds further traces of the build.

A wheel may have several copies of the core, one per CPU level. Then the file `PIL/_imaging*.so` is a stub, which names
the copies' common soname in DT_NEEDED. The loader of glibc 2.33 or later finds the copy for the CPU's level in a
subdirectory of glibc-hwcaps. An older loader, or one that finds no such copy, takes the baseline copy beside
glibc-hwcaps. This module simulates the loader, and describes the copy that the loader would take.
"""

import io
import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.files import sha256
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import list_leading_numbers
from fastinstall.elf import symbols as symbol_tables
from fastinstall.elf.description import BuildTraces, CoreLevel, ImagingCore
from fastinstall.elf.dynamic import DynamicFile, read_dynamic
from fastinstall.elf.image import NOTE, ElfError, ElfImage, open_image
from fastinstall.elf.libraries import describe_jpeg
from fastinstall.elf.loader.simulation import ResolvedLibrary, resolve_libraries
from fastinstall.elf.lookup import read_versions

_VERSION = re.compile(rb"\0(\d+\.\d+\.\d+(?:\.post\d+|\.dev\d+)?)(?=\0)")


CODE_PREFIX = "lib_imaging_core-"
"""Prefix of the soname of the code behind a stub; the rest of the soname differs from wheel to wheel."""

ENTRY = "PyInit__imaging"
BASELINE = "baseline"
LEVEL_DIRECTORIES = "glibc-hwcaps"


@immutable
class Stub:
    """A file at the core's path that loads the core's code from another library, and contains none of it.

    Attributes:
        path: the stub's path, where Python expects the core.
        file: the stub's dynamic section.
        code: the soname of the library with the code.
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
    """Read the core; for a damaged or missing file return an `ImagingCore` with `readable` False.

    Args:
        path: the core, or the stub that stands in for it when the loader picks one of several copies.
        symbols: the symbols to look for (a recipe's `expect.symbols`).
        main: the interpreter that would load the core; None if unknown.
        hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first.
        library_path: the directories of LD_LIBRARY_PATH.
        expected_version: the version in `PIL/_version.py`; taken as the core's version if the core contains it.
    """
    seen = ImagingCore(path=path, size=0, mtime_ns=0, sha256="", readable=False)
    try:
        status = path.stat()
        seen = replace(seen, size=status.st_size, mtime_ns=status.st_mtime_ns, sha256=sha256(path))
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
    """Return the copy that the loader would take for a stub.

    Raises:
        ElfError: the loader would find no copy, or the copy is unusable.
    """
    copy = core.loaded_copy
    if copy is None:
        searched = found.problem if found is not None else "not found"
        raise ElfError(stub.path, f"a stub without its code, {stub.code}: {searched}")
    if copy.problem:
        raise ElfError(stub.path, f"a stub with unusable code, {copy.path}: {copy.problem}")
    return copy


def _read_own_machine(path: Path, main: Path | None) -> DynamicFile:
    """Read a file's dynamic section, and check that the file is for the interpreter's architecture.

    If the interpreter cannot be read, the file must be for this machine's architecture.

    Raises:
        ElfError: the file is for another architecture, or malformed.
        OSError: the file cannot be opened.
    """
    file, machine = read_dynamic(path), os.uname().machine
    with suppress(OSError, ElfError):
        machine = read_dynamic(main).machine if main is not None else machine
    if file.machine != machine:
        raise ElfError(path, f"built for {file.machine}, not for {machine}")
    return file


def _choose_version(content: bytes, expected: str | None) -> str:
    """Return the Pillow version compiled into a core; empty if the core contains no version string.

    A core contains Pillow's version and the versions of libraries, in no particular order. If one of them is
    `expected`, return it. Otherwise return a fork's version, which has ".post". Without such a version, return the
    highest: Pillow's version has been at least 9 since 2022, and the libraries' versions are lower.
    """
    versions = [match.decode("ascii") for match in _VERSION.findall(content)]
    if expected is not None and expected in versions:
        return expected
    return max(versions, key=lambda version: (".post" in version, list_leading_numbers(version)), default="")


def read_stub(path: Path) -> Stub | None:
    """Return the stub at a core's path, or None if the file contains the core's code.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    file = read_dynamic(path)
    code = next((name for name in file.needed if name.startswith(CODE_PREFIX)), None)
    return Stub(path=path, file=file, code=code) if code is not None else None


def read_levels(stub: Stub, loaded: Path | None, symbols: tuple[str, ...]) -> tuple[CoreLevel, ...]:
    """Describe every copy of the code behind a stub. The baseline comes first, and is described even if it is missing.

    Args:
        stub: the result of `read_stub`.
        loaded: the copy that the loader would take on this machine, or None if it finds none.
        symbols: the symbols to look for.
    """
    if loaded is not None:  # the baseline is the loaded copy, or beside the directory glibc-hwcaps
        above = loaded.parent.parent
        home = above.parent if above.name == LEVEL_DIRECTORIES else loaded.parent
    else:  # the baseline belongs in the first directory of the stub's search path
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
        copy = replace(copy, sha256=sha256(path))
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


def describe_making(core: ImagingCore) -> ImagingCore:
    """Return a core with its build traces added, or the unchanged core if its file cannot be read."""
    try:
        return replace(core, build_traces=read_details(Path(core.loaded_file)))
    except (OSError, ElfError):
        return core


_PACKAGE_NOTE: tuple[str, object] = ("FDO", 0xCAFE1A7E)
_MOST_NOTES = 1000
_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?")
_RELATIVE_RELOCATIONS = "GLIBC_ABI_DT_RELR"


def read_details(path: Path) -> BuildTraces:
    """Read the traces that a build left in a file.

    The package metadata follow the UAPI group's "Package Metadata for Executable Files".

    Raises:
        ElfError: the file, a section, a note or the metadata is malformed; `ForeignElfError` if the file
            is for a 32-bit or big-endian machine.
        OSError: the file cannot be opened.
    """
    names = [name for versions in read_versions(path).needed.values() for name in versions]
    required = [(int(match[1]), int(match[2])) for match in map(_GLIBC.fullmatch, names) if match]
    if _RELATIVE_RELOCATIONS in names:  # glibc has supported packed relocations since 2.36
        required.append((2, 36))
    with open_image(path) as image:
        kinds = {section.kind for section in symbol_tables.read_sections(image)}
        return BuildTraces(
            compilers=symbol_tables.read_lines(image, ".comment"),
            package=_read_package_note(image),
            glibc="{}.{}".format(*max(required)) if required else "",
            stripped=symbol_tables.STATIC_SYMBOLS not in kinds,
        )


def _read_package_note(image: ElfImage) -> dict[str, str]:
    from elftools.elf.elffile import ELFFile  # too slow an import for doctor, which seldom needs it
    from elftools.elf.notes import iter_notes  # too slow an import for doctor, which seldom needs it

    content = io.BytesIO(image.read(0, image.size))  # a malformed file cannot make pyelftools read beyond these bytes
    try:
        elf = ELFFile(content)
        notes = chain.from_iterable(iter_notes(elf, part.offset, part.size) for part in image.of_kind(NOTE))
        for note in islice(notes, _MOST_NOTES):
            if (note["n_name"], note["n_type"]) == _PACKAGE_NOTE:
                values = json_data(bytes(note["n_descdata"]).rstrip(b"\0"))
                return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    except Exception as error:  # pyelftools raises errors of any type for a malformed file
        raise ElfError(image.path, f"malformed: {type(error).__name__}: {error}") from error
    return {}
