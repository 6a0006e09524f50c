"""The imaging core, `PIL/_imaging*.so`, from its file alone: what it is, what it would load, what is wrong with it."""

import hashlib
import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.binary.core_levels import Stub, read_levels, read_stub
from fastinstall.binary.dynamic import ElfError, read_dynamic
from fastinstall.binary.image import open_image, read_whole
from fastinstall.binary.libraries import describe_jpeg
from fastinstall.binary.loader import ResolvedLibrary, resolve_libraries
from fastinstall.binary.symbols import compiler_switches, defined_among, unoptimised_share
from fastinstall.model.core import Core

_VERSION = re.compile(rb"\0(\d+\.\d+\.\d+(?:\.post\d+|\.dev\d+)?)(?=\0)")


def read_core(  # noqa: PLR0913 (what to look for in a file, and the three things that its loading depends on)
    path: Path,
    symbols: tuple[str, ...],
    *,
    main: Path | None,
    hwcaps: tuple[str, ...],
    library_path: tuple[Path, ...] = (),
    expected_version: str | None = None,
) -> Core:
    """Read the core; a damaged or missing file is a `Core` that is not readable, never an exception.

    Args:
        path: the core, or a stub in its place whose code the loader picks among several copies.
        symbols: which to look for (a recipe's `expect.symbols`).
        main: the interpreter that would load it.
        hwcaps: see `resolve_libraries`.
        library_path: see `resolve_libraries`.
        expected_version: what `PIL/_version.py` says, to be told from the versions of libraries.
    """
    seen = Core(path=path, size=0, mtime_ns=0, sha256="", readable=False)
    resolve = partial(resolve_libraries, path, main=main, library_path=library_path, hwcaps=hwcaps)
    try:
        seen = _measured(seen, path)
        _check_machine(path, _machine(main))
        stub, resolved = read_stub(path), resolve()
        if stub is None:
            described = _described(seen, path, symbols)
        else:
            seen = replace(seen, levels=read_levels(stub, _loaded(stub, resolved), symbols))
            described = _described_by_copy(seen, stub, resolved)
        return replace(
            described,
            readable=True,
            version=_version(_constants(_code(described)), expected_version),
            switches=compiler_switches(_code(described)),
            libraries=tuple(
                describe_jpeg(each.soname, each.path) for each in resolved if stub is None or each.soname != stub.code
            ),
        )
    except OSError as error:
        return replace(seen, problem=f"cannot be read: {error.strerror or error}")
    except ElfError as error:
        return replace(seen, problem=error.problem)


def describe_making(core: Core) -> Core:
    """Add what the code tells about its making; slow (20 ms), and nothing that a verdict needs."""
    from fastinstall.binary.details import read_details  # noqa: PLC0415 (pyelftools is not for every run)

    try:
        return replace(core, making=read_details(_code(core)))
    except (OSError, ElfError):
        return core


def _loaded(stub: Stub, resolved: tuple[ResolvedLibrary, ...]) -> Path | None:
    return next((library.path for library in resolved if library.soname == stub.code), None)


def _described_by_copy(core: Core, stub: Stub, resolved: tuple[ResolvedLibrary, ...]) -> Core:
    """Describe a stub by the copy that the loader would take.

    Raises:
        ElfError: it would find none, or none that can take the core's place.
    """
    copy = next((copy for copy in core.levels if copy.loaded), None)
    if copy is None:
        searched = next((library.problem for library in resolved if library.soname == stub.code), "not found")
        raise ElfError(stub.path, f"a stub without its code, {stub.code}: {searched}")
    if copy.problem:
        raise ElfError(stub.path, f"a stub whose code is not usable, {copy.path}: {copy.problem}")
    return replace(
        core,
        simd_symbols=copy.simd_symbols,
        unoptimised_share=copy.unoptimised_share,
        isa_note=copy.isa_note,
    )


def _code(core: Core) -> Path:
    """The file that holds the code."""
    return Path(next((copy.path for copy in core.levels if copy.loaded), core.path))


def _measured(core: Core, path: Path) -> Core:
    modified = path.stat().st_mtime_ns
    content = read_whole(path)
    digest = hashlib.sha256(content).hexdigest()
    return replace(core, size=len(content), mtime_ns=modified, sha256=digest)


def _check_machine(path: Path, machine: str) -> None:
    built_for = read_dynamic(path).machine
    if built_for != machine:
        raise ElfError(path, f"built for {built_for}, not for {machine}")


def _described(core: Core, path: Path, symbols: tuple[str, ...]) -> Core:
    defined = defined_among(path, symbols)
    return replace(
        core,
        simd_symbols=tuple(symbol for symbol in symbols if symbol in defined),
        unoptimised_share=unoptimised_share(path),
        isa_note=read_dynamic(path).isa_needed,
    )


def _machine(main: Path | None) -> str:
    """What the interpreter runs on; this machine's architecture where it does not say."""
    try:
        return read_dynamic(main).machine if main is not None else os.uname().machine
    except (OSError, ElfError):
        return os.uname().machine


def _constants(path: Path) -> bytes:
    with open_image(path) as image:
        return image.constants()


def _version(content: bytes, expected: str | None) -> str:
    """The version string compiled in.

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
