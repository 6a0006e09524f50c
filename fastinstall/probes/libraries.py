"""A native library as a build would find it: header, file for the linker, version, implementation."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fastinstall.model.immutable import immutable
from fastinstall.model.machine import NativeLibrary
from fastinstall.model.recipe import NativeRequirement
from fastinstall.system import foreign
from fastinstall.system.process import CommandError, run
from fastinstall.system.surroundings import find_program

_TIMEOUT = 10.0
_TURBO = re.compile(r"^\s*#\s*define\s+LIBJPEG_TURBO_VERSION\s+([0-9.]+)", re.MULTILINE)
_IJG = re.compile(r"^\s*#\s*define\s+JPEG_LIB_VERSION\s+(\d+)", re.MULTILINE)


@immutable
class SearchPath:
    """Where compiler and linker look, in their order.

    Attributes:
        include: directories of headers.
        library: directories of libraries.
    """

    include: tuple[Path, ...]
    library: tuple[Path, ...]

    @classmethod
    def of_system(cls, include_roots: tuple[Path, ...] = ()) -> "SearchPath":
        """The system's directories behind those of `include_roots` and the libraries beside them."""
        triplet = f"{os.uname().machine}-linux-gnu"
        private = [root.parent / name for root in include_roots for name in (f"lib/{triplet}", "lib64", "lib")]
        usual = ("/usr/local/lib", f"/usr/lib/{triplet}", f"/lib/{triplet}", "/usr/lib64", "/lib64", "/usr/lib", "/lib")
        nested = [root / triplet for root in include_roots]
        system = (Path("/usr/local/include"), Path("/usr/include") / triplet, Path("/usr/include"))
        return cls(include=(*include_roots, *nested, *system), library=(*private, *map(Path, usual)))


def observe_library(
    name: str, requirement: NativeRequirement, search: SearchPath, variables: Mapping[str, str]
) -> NativeLibrary:
    """Look for one library, first in the directories of `search`, then where pkg-config points.

    Args:
        name: the recipe's name for it.
        requirement: what it is known by.
        search: where to look.
        variables: environment variables: PATH, PKG_CONFIG_PATH.
    """
    package = _Package(requirement.pkgconfig, variables)
    include = _include(requirement.header, search.include) or _include(requirement.header, package.path("includedir"))
    library = _library(requirement.link, search.library) or _library(requirement.link, package.path("libdir"))
    version, implementation = _jpeg(include, search) if requirement.header == "jpeglib.h" else ("", "")
    found = include is not None or library is not None
    return NativeLibrary(
        name=name,
        include=include,
        library=library,
        version=version or (package.ask("--modversion") if found else ""),
        implementation=implementation,
    )


@dataclass(frozen=True, slots=True)
class _Package:
    """A package of pkg-config, asked only when files alone do not answer."""

    name: str
    variables: Mapping[str, str]

    def path(self, variable: str) -> tuple[Path, ...]:
        answer = self.ask(f"--variable={variable}")
        return (Path(answer),) if answer else ()

    def ask(self, question: str) -> str:
        program = find_program("pkg-config", self.variables) if self.name else None
        if program is None:
            return ""
        try:
            return run((program, question, self.name), environment=self.variables, timeout=_TIMEOUT).stdout.strip()
        except CommandError:
            return ""


def _include(header: str, directories: tuple[Path, ...]) -> Path | None:
    """The include directory that the header is found in: what stands up to the last wildcard belongs to it."""
    parts = PurePosixPath(header).parts
    inner = next((index for index in range(len(parts) - 2, -1, -1) if "*" in parts[index]), -1)
    for directory in directories:
        for found in sorted(directory.glob(header), reverse=True):
            if found.is_file():
                return found.parents[len(parts) - 2 - inner]
    return None


def _library(link: str, directories: tuple[Path, ...]) -> Path | None:
    """The shared library that `-lLINK` would take; a dangling symlink, as headers alone bring it, is none."""
    return next((path for path in (directory / f"lib{link}.so" for directory in directories) if path.is_file()), None)


def _jpeg(include: Path | None, search: SearchPath) -> tuple[str, str]:
    """Version and implementation, from the jconfig.h that `#include "jconfig.h"` in jpeglib.h would take."""
    if include is None:
        return "", ""
    directories = (include, *search.include)
    config = next((path for path in (directory / "jconfig.h" for directory in directories) if path.is_file()), None)
    texts = [foreign.read_text(path, errors="replace") for path in (config, include / "jpeglib.h") if path is not None]
    turbo = _TURBO.search("\n".join(texts))
    if turbo:
        return turbo[1], "libjpeg-turbo"
    classic = _IJG.search("\n".join(texts))
    return (str(int(classic[1]) // 10), "IJG libjpeg") if classic else ("", "")
