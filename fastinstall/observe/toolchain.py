"""Find the means for a build on this machine: compiler, libraries and headers, package manager, conda's channels."""

import importlib.util
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

from fastinstall.compilers.system import observe_compiler
from fastinstall.core import foreign
from fastinstall.core.architecture import architecture_of
from fastinstall.core.process import CommandError, run
from fastinstall.core.root_commands import find_root_prefix
from fastinstall.core.surroundings import find_program
from fastinstall.core.values import immutable
from fastinstall.model.machine import NativeLibrary, Toolchain
from fastinstall.model.recipe import NativeRequirement
from fastinstall.observe.conda.channels import DEFAULTS, read_configured_channels, read_default_channels

DRIVEN_MANAGERS = ("apt", "dnf")
"""Package managers with which `--with-system-deps` can install packages."""


def observe_toolchain(
    recipe_libraries: Mapping[str, NativeRequirement], flags: Iterable[str], *, variables: Mapping[str, str]
) -> Toolchain:
    """Return the means for a build on this machine; takes about 100 ms.

    Args:
        recipe_libraries: the native libraries that the recipe names.
        flags: compiler and linker flags to try on the compiler.
        variables: environment variables: CC, PATH, PKG_CONFIG_PATH.
    """
    search = SearchPath.of_system()
    manager = find_package_manager(variables)
    return Toolchain(
        compiler=observe_compiler(tuple(flags), variables),
        libraries=tuple(observe_library(name, need, search, variables) for name, need in recipe_libraries.items()),
        package_manager=manager,
        may_install=manager in DRIVEN_MANAGERS and os.geteuid() == 0,
        as_root=find_root_prefix(variables),
        named_compiler=variables.get("CC", ""),
        rattler=importlib.util.find_spec("rattler") is not None,
        channels=_read_conda_channels(variables),
    )


def _read_conda_channels(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return conda's configured channels; "defaults" is replaced by the default channels if these are configured."""
    from fastinstall.observe.conda.executable import find_conda  # noqa: PLC0415 (only for a build)

    prefix = Path(variables.get("CONDA_PREFIX") or "/")
    tool = find_conda(variables, prefix)
    root = Path(tool.root) if tool is not None else None
    found = read_configured_channels(variables, prefix, root)
    if DEFAULTS not in found:
        return found
    defaults = read_default_channels(variables, prefix, root) or (DEFAULTS,)
    return tuple(each for channel in found for each in (defaults if channel == DEFAULTS else (channel,)))


_LIBRARY_TIMEOUT = 10.0
_TURBO = re.compile(r"^\s*#\s*define\s+LIBJPEG_TURBO_VERSION\s+([0-9.]+)", re.MULTILINE)
_IJG = re.compile(r"^\s*#\s*define\s+JPEG_LIB_VERSION\s+(\d+)", re.MULTILINE)


@immutable
class SearchPath:
    """The directories that the compiler and the linker search, in order.

    Attributes:
        include: directories of headers.
        library: directories of libraries.
    """

    include: tuple[Path, ...]
    library: tuple[Path, ...]

    @classmethod
    def of_system(cls) -> "SearchPath":
        """Return the directories that compilers search by default."""
        triplet = architecture_of(os.uname().machine).target
        include = ("/usr/local/include", f"/usr/include/{triplet}", "/usr/include")
        usual = ("/usr/local/lib", f"/usr/lib/{triplet}", f"/lib/{triplet}", "/usr/lib64", "/lib64", "/usr/lib", "/lib")
        return cls(include=tuple(map(Path, include)), library=tuple(map(Path, usual)))


def observe_library(
    name: str, requirement: NativeRequirement, search: SearchPath, variables: Mapping[str, str]
) -> NativeLibrary:
    """Look for a library and its header, first in the directories of `search`, then in those that pkg-config names.

    Args:
        name: the recipe's name for the library.
        requirement: how the recipe identifies the library.
        search: the directories to search first.
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

    def find(
        look: Callable[[str, tuple[Path, ...]], Path | None], name: str, places: tuple[Path, ...], more: str
    ) -> Path | None:
        return look(name, places) or look(name, tuple(map(Path, filter(None, (ask(f"--variable={more}"),)))))

    include = find(_include, requirement.header, search.include, "includedir")
    library = find(_find_shared_library, requirement.link, search.library, "libdir")
    version, implementation = _identify_jpeg(include, search) if requirement.header == "jpeglib.h" else ("", "")
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


def _identify_jpeg(include: Path | None, search: SearchPath) -> tuple[str, str]:
    """Return the version and the implementation of a libjpeg, from its headers; two empty texts if unknown.

    Of several jconfig.h, the one that jpeglib.h would include is read.
    """
    if include is None:
        return "", ""
    directories = (include, *search.include)
    configs = [path for each in directories if (path := each / "jconfig.h").is_file()]
    text = "\n".join(foreign.text_or_empty(path) for path in (*configs[:1], include / "jpeglib.h"))
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
