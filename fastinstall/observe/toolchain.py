"""Find what this machine offers for a build: compiler, libraries, headers, package manager, conda's channels."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from fastinstall.compilers.system import observe_compiler
from fastinstall.core import foreign
from fastinstall.core.architecture import architecture_of
from fastinstall.core.process import CommandError, run
from fastinstall.core.root_commands import find_root_prefix
from fastinstall.core.surroundings import find_program
from fastinstall.model.machine import NativeLibrary, Toolchain
from fastinstall.model.recipe import NativeRequirement
from fastinstall.observe.conda.channels import resolve_configured_channels

DRIVEN_MANAGERS = ("apt", "dnf")
"""Package managers with which `--with-system-deps` can install packages."""


def observe_toolchain(
    recipe_libraries: Mapping[str, NativeRequirement], flags: Iterable[str], *, variables: Mapping[str, str]
) -> Toolchain:
    """Return the tools and libraries that this machine offers for a build; takes about 100 ms.

    Args:
        recipe_libraries: the native libraries that the recipe names.
        flags: compiler and linker flags to try on the compiler.
        variables: environment variables: CC, PATH, PKG_CONFIG_PATH.
    """
    from fastinstall.observe.conda.executable import find_conda  # needed only for a build

    include, library = list_search_paths()
    manager = find_package_manager(variables)
    prefix = Path(variables.get("CONDA_PREFIX") or "/")
    conda = find_conda(variables, prefix)
    return Toolchain(
        compiler=observe_compiler(tuple(flags), variables),
        libraries=tuple(
            observe_library(name, need, include, library, variables) for name, need in recipe_libraries.items()
        ),
        package_manager=manager,
        may_install=manager in DRIVEN_MANAGERS and os.geteuid() == 0,
        as_root=find_root_prefix(variables),
        named_compiler=variables.get("CC", ""),
        rattler=importlib.util.find_spec("rattler") is not None,
        channels=resolve_configured_channels(variables, prefix, Path(conda.root) if conda is not None else None),
    )


_LIBRARY_TIMEOUT = 10.0
_TURBO = re.compile(r"^\s*#\s*define\s+LIBJPEG_TURBO_VERSION\s+([0-9.]+)", re.MULTILINE)
_IJG = re.compile(r"^\s*#\s*define\s+JPEG_LIB_VERSION\s+(\d+)", re.MULTILINE)


def list_search_paths() -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the directories that compilers search for headers and for libraries by default, each in order."""
    triplet = architecture_of(os.uname().machine).target
    include = ("/usr/local/include", f"/usr/include/{triplet}", "/usr/include")
    usual = ("/usr/local/lib", f"/usr/lib/{triplet}", f"/lib/{triplet}", "/usr/lib64", "/lib64", "/usr/lib", "/lib")
    return tuple(map(Path, include)), tuple(map(Path, usual))


def observe_library(
    name: str,
    requirement: NativeRequirement,
    include_path: tuple[Path, ...],
    library_path: tuple[Path, ...],
    variables: Mapping[str, str],
) -> NativeLibrary:
    """Look for a library and its header, first in some directories, then in those that pkg-config names.

    Args:
        name: the recipe's name for the library.
        requirement: how the recipe identifies the library.
        include_path: the directories to search first for the header.
        library_path: the directories to search first for the library.
        variables: environment variables: PATH, PKG_CONFIG_PATH.
    """

    def ask(question: str) -> str:
        """Return pkg-config's output for one option; empty if pkg-config is missing or does not know the library."""
        program = find_program("pkg-config", variables) if requirement.pkgconfig else None
        if program is None:
            return ""
        try:
            argv = (program, question, requirement.pkgconfig)
            return run(argv, environment=variables, timeout=_LIBRARY_TIMEOUT).stdout.strip()
        except CommandError:
            return ""

    def ask_directory(variable: str) -> tuple[Path, ...]:
        named = ask(f"--variable={variable}")
        return (Path(named),) if named else ()

    header, link, version, implementation = requirement.header, requirement.link, "", ""
    include = _include(header, include_path) or _include(header, ask_directory("includedir"))
    library = _find_shared_library(link, library_path) or _find_shared_library(link, ask_directory("libdir"))
    if header == "jpeglib.h" and include is not None:
        version, implementation = _identify_jpeg((include, *include_path))
    found = include is not None or library is not None
    return NativeLibrary(
        name=name,
        include=include,
        library=library,
        version=version or (ask("--modversion") if found else ""),
        implementation=implementation,
    )


def _include(header: str, directories: tuple[Path, ...]) -> Path | None:
    """Return the directory to pass to the compiler with `-I` for a header, or None if the header is not found.

    Args:
        header: the header's path, which may have wildcards in its directories. The directories up to the last wildcard
            are part of the result.
        directories: the directories to search.
    """
    parts = PurePosixPath(header).parts
    inner = next((index for index in range(len(parts) - 2, -1, -1) if "*" in parts[index]), -1)
    for directory in directories:
        for found in sorted(directory.glob(header), reverse=True):
            if found.is_file():
                return found.parents[len(parts) - 2 - inner]
    return None


def _find_shared_library(link: str, directories: tuple[Path, ...]) -> Path | None:
    """Return the shared library that `-lLINK` would use, or None; dangling symbolic links do not count."""
    return next((path for each in directories if (path := each / f"lib{link}.so").is_file()), None)


def _identify_jpeg(directories: tuple[Path, ...]) -> tuple[str, str]:
    """Return the version and the implementation of a libjpeg, from its headers; two empty strings if unknown.

    If there are several files jconfig.h, the one that jpeglib.h would include is read.

    Args:
        directories: the directory of jpeglib.h, then those that the compiler searches.
    """
    configs = [path for each in directories if (path := each / "jconfig.h").is_file()]
    text = "\n".join(foreign.text_or_empty(path) for path in (*configs[:1], directories[0] / "jpeglib.h"))
    turbo, classic = _TURBO.search(text), _IJG.search(text)
    if turbo:
        return turbo[1], "libjpeg-turbo"
    return (str(int(classic[1]) // 10), "IJG libjpeg") if classic else ("", "")


_MANAGERS = {
    "apt": ("apt-get", "dpkg"),
    "dnf": ("dnf", "rpm"),
    "zypper": ("zypper", "rpm"),
    "pacman": ("pacman",),
    "apk": ("apk",),
}
"""By package manager: the programs by which it is recognised, all of which must be on PATH."""


def find_package_manager(variables: Mapping[str, str]) -> str | None:
    """Return this machine's package manager: "apt", "dnf", "zypper", "pacman", "apk" or None.

    Args:
        variables: environment variables; PATH is read.
    """
    path = variables.get("PATH", os.defpath)
    for manager, programs in _MANAGERS.items():
        if all(shutil.which(program, path=path) for program in programs):
            return manager
    return None
