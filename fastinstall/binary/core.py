"""The imaging core, `PIL/_imaging*.so`, from its file alone: what it is, what it would load, what is wrong with it."""

import hashlib
import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.binary.dynamic import ElfError, read_dynamic
from fastinstall.binary.image import open_image, read_whole
from fastinstall.binary.libraries import identify_jpeg
from fastinstall.binary.loader import ResolvedLibrary, resolve_libraries
from fastinstall.binary.symbols import compiler_switches, defined_symbols, unoptimised_share
from fastinstall.model.facts import Core, Library
from fastinstall.system.files import sha256

_VERSION = re.compile(rb"\0(\d+\.\d+\.\d+(?:\.post\d+|\.dev\d+)?)(?=\0)")
_JPEG = re.compile(r"libjpeg[-.]")


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
        path: the core.
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
        described = _described(seen, path, symbols, _machine(main))
        version = _version(_constants(path), expected_version)
        libraries = tuple(_library(resolved) for resolved in resolve())
        return replace(described, readable=True, version=version, libraries=libraries)
    except OSError as error:
        return replace(seen, problem=f"cannot be read: {error.strerror or error}")
    except ElfError as error:
        return replace(seen, problem=error.problem)


def _measured(core: Core, path: Path) -> Core:
    modified = path.stat().st_mtime_ns
    content = read_whole(path)
    digest = hashlib.sha256(content).hexdigest()
    return replace(core, size=len(content), mtime_ns=modified, sha256=digest)


def _described(core: Core, path: Path, symbols: tuple[str, ...], machine: str) -> Core:
    dynamic = read_dynamic(path)
    if dynamic.machine != machine:
        raise ElfError(path, f"built for {dynamic.machine}, not for {machine}")
    defined = defined_symbols(path)
    return replace(
        core,
        simd_symbols=tuple(symbol for symbol in symbols if symbol in defined),
        unoptimised_share=unoptimised_share(path),
        isa_note=dynamic.isa_needed,
        switches=compiler_switches(path),
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


def _library(resolved: ResolvedLibrary) -> Library:
    plain = Library(soname=resolved.soname, path=resolved.path)
    if resolved.path is None or not _JPEG.match(resolved.soname):
        return plain
    try:
        identity = identify_jpeg(resolved.path)
        if identity is None:
            return plain
        return Library(
            soname=resolved.soname,
            path=resolved.path,
            implementation=identity.implementation,
            version=identity.version,
            simd=identity.simd,
            sha256=sha256(resolved.path),
        )
    except (OSError, ElfError):
        return plain
