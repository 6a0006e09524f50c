"""Ask the compiler which C headers it sees: are they all there, which versions, and a digest of their content.

One run of the preprocessor with the flags of the build answers all three. The digest is over what
the compiler would read, so it changes with a header, with glibc, with the compiler and with the
CPU behind `-march=native`, and not with the place where a header lies.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastinstall.build.request import BuildRequest
from fastinstall.errors import FailedError
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import NativeRequirement
from fastinstall.system.process import run

_SYSTEM_DIRECTORIES = (Path("/usr/local/include"), Path("/usr/include"))
_MISSING = "fastinstall_missing_header"
_SECONDS = 60.0
_VERSION_MACROS = {
    "jpeglib.h": r"LIBJPEG_TURBO_VERSION\s+(\S+)",
    "zlib.h": r'ZLIB_VERSION\s+"([^"]+)"',
    "tiffio.h": r'TIFFLIB_VERSION_STR(?:_MAJ_MIN_MIC)?\s+"(?:LIBTIFF, Version )?([\d.]+)',
}


@immutable
class Headers:
    """The C headers as the compiler sees them.

    Attributes:
        directories: what is passed with -I, in order.
        digest: of everything that was read, and of the compiler's own macros.
        versions: of the libraries' headers, by the recipe's names, where they tell one.
        jpeg_abi: JPEG_LIB_VERSION ("62", "80"); empty without jpeglib.h.
        gcc: whether the compiler is GCC itself, not one that only says so.
    """

    directories: tuple[Path, ...]
    digest: str
    versions: dict[str, str]
    jpeg_abi: str
    gcc: bool


def probe_headers(request: BuildRequest) -> Headers:
    """Preprocess every header that the build includes.

    Raises:
        FailedError: Python.h or a library's header is missing, with the packages that bring it.
    """
    directories = include_directories(request)
    text = preprocess(request, directories, _program(request, directories))
    missing = tuple(re.findall(rf"^{_MISSING} (\S+)$", text, re.MULTILINE))
    if missing:
        raise _missing(request, missing)
    return Headers(
        directories=directories,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        versions=_versions(request, directories, text),
        jpeg_abi=macro("JPEG_LIB_VERSION", text),
        gcc=bool(macro("__GNUC__", text)) and not macro("__clang__", text),
    )


def include_directories(request: BuildRequest) -> tuple[Path, ...]:
    """Directories before the system's: private headers, then those of the environment that is linked."""
    prefix = (request.library_prefix / "include",) if request.library_prefix is not None else ()
    return (*request.include_directories, *prefix)


def include_flags(directories: Iterable[Path]) -> tuple[str, ...]:
    """The words that make the compiler search them."""
    return tuple(f"-I{directory}" for directory in directories)


def preprocess(request: BuildRequest, directories: Iterable[Path], program: str) -> str:
    """What the compiler reads for a program, macros included, without the names of files.

    Raises:
        FailedError: the preprocessor refuses it.
    """
    python = (request.interpreter.include,)
    include = include_flags((*directories, *map(Path, python)))
    last = tuple(f"-idirafter{directory}" for directory in _own_directories(request, directories))
    flags = ("-pthread", *request.step.targets[0].cflags, *include, *last)
    argv = (*request.compiler.command, *flags, "-E", "-P", "-dD", "-x", "c", "-")
    return run(argv, environment=request.variables, stdin=program, timeout=_SECONDS).stdout


def macro(name: str, text: str) -> str:
    """Return a macro's value in preprocessed text, or "" if it is not defined."""
    match = re.search(rf"^#define {name}\s+(.+?)\s*$", text, re.MULTILINE)
    return match[1] if match else ""


def _own_directories(request: BuildRequest, directories: Iterable[Path]) -> Iterator[Path]:
    """Those that a library's header finds its siblings in, as freetype2/ft2build.h does; setup.py adds them too."""
    places = (*directories, *_SYSTEM_DIRECTORIES)
    names = {Path(library.header).parent for library in request.enabled().values() if "*" not in library.header}
    return (place / name for name in sorted(names - {Path()}) for place in places if (place / name).is_dir())


def _program(request: BuildRequest, directories: tuple[Path, ...]) -> str:
    lines = ["#include <stddef.h>", "#include <stdio.h>", *_included("Python", "<Python.h>")]
    for name, library in _observed(request).items():
        lines += _included(name, _spelled(library, directories))
    return "\n".join(lines) + "\n"


def _observed(request: BuildRequest) -> dict[str, NativeRequirement]:
    """Libraries whose headers are the machine's; those of libraries that are built here come with them."""
    return {name: library for name, library in request.enabled().items() if name not in request.statics}


def _included(name: str, header: str) -> Iterator[str]:
    yield f"#if __has_include({header})"
    yield f"#include {header}"
    yield "#else"
    yield f"{_MISSING} {name}"
    yield "#endif"


def _spelled(library: NativeRequirement, directories: tuple[Path, ...]) -> str:
    if "*" not in library.header:
        return f"<{library.header}>"
    found = _versioned(library, directories)
    return f'"{found}"' if found else f"<{library.header.replace('*', 'any')}>"


def _versioned(library: NativeRequirement, directories: tuple[Path, ...]) -> Path | None:
    """A header in a directory named after its version, as Pillow's setup.py looks for openjpeg's."""
    places = (*directories, *_SYSTEM_DIRECTORIES)
    return next((path for place in places for path in sorted(place.glob(library.header), reverse=True)), None)


def _versions(request: BuildRequest, directories: tuple[Path, ...], text: str) -> dict[str, str]:
    found = {}
    for name, library in _observed(request).items():
        match = re.search(rf"^#define {_VERSION_MACROS.get(library.header, '(?!)')}", text, re.MULTILINE)
        if match:
            found[name] = match[1]
        elif path := _versioned(library, directories) if "*" in library.header else None:
            found[name] = path.parent.name.rpartition("-")[2]
    return found


def _missing(request: BuildRequest, names: tuple[str, ...]) -> FailedError:
    if "Python" in names:
        return missing_python_headers(request)
    libraries = {name: request.recipe.libraries[name] for name in names}
    listed = ", ".join(f"{library.header} ({name})" for name, library in libraries.items())
    return FailedError(f"C headers are missing: {listed}", hint=package_hint(libraries.values()))


def missing_python_headers(request: BuildRequest) -> FailedError:
    """Python.h is not where the interpreter says."""
    minor = ".".join(request.interpreter.version.split(".")[:2])
    return FailedError(
        f"{request.interpreter.include}/Python.h is missing: {request.interpreter.executable} has no C headers",
        hint=f"apt-get install python{minor}-dev, or dnf install python{minor}-devel, or a Python that has them",
    )


def package_hint(libraries: Iterable[NativeRequirement]) -> str:
    """The commands that install the packages of these libraries."""
    wanted = tuple(libraries)
    packages = {
        "apt-get install": [name for library in wanted for name in library.apt],
        "dnf install": [name for library in wanted for name in library.dnf],
    }
    commands = [f"{command} {' '.join(dict.fromkeys(names))}" for command, names in packages.items() if names]
    return ", or ".join([*commands, "run again with --with-system-deps"])
