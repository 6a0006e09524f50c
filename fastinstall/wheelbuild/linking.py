"""Decide which libraries a build links, with which headers, and where the core looks for them.

The run-time path is a DT_RPATH relative to the module, written by the linker. Unlike DT_RUNPATH, LD_LIBRARY_PATH cannot
override it (ld.so(8)), and unlike an absolute path it survives moving the environment.

One run of the preprocessor with the build's flags shows whether all C headers are there, their versions, and a digest
of their content. The digest covers everything that the compiler would read. It changes with a header, with glibc, with
the compiler and with the CPU behind `-march=native`, but not with the place of a header.

The jpeg headers are adapted to the ABI of the linked libjpeg. libjpeg-turbo emulates one of several ABIs of libjpeg.
Two places show which one: the soname (libjpeg.so.62 is version 62, libjpeg.so.8 is 80) and JPEG_LIB_VERSION of
jconfig.h, which lays out the structures. Debian's and Fedora's headers say 62, Ubuntu's 80, the official wheels' says
62; a core compiled for another version refuses to decode ("library is 62, caller expects 80"). The headers are
otherwise the same, so a private copy with the right number works.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote
from fastinstall.core.process import run
from fastinstall.core.values import immutable
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.request import LinkMode
from fastinstall.model.system_packages import BuildNeeds
from fastinstall.observe.toolchain import find_package_manager
from fastinstall.wheelbuild.base_wheel import BaseWheel
from fastinstall.wheelbuild.build_inputs import BuildRequest, plain_path
from fastinstall.wheelbuild.header_fit import list_python_macros, refuse_misfit, refuse_other_python


@immutable
class Linking:
    """How a build links.

    Attributes:
        flags: for the linker.
        options: the build's own options: "jpeg" to "enable" or "disable".
    """

    flags: tuple[str, ...] = ()
    options: dict[str, str]


@immutable
class LinkLocation:
    """The place of a core.

    Attributes:
        run_path: where it looks for libraries, relative to itself; empty for no path of its own.
        soname: its own name, if another file needs it; empty otherwise.
    """

    run_path: str
    soname: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """The linker's flags."""
        search = (f"-Wl,--disable-new-dtags,-rpath,{self.run_path}",) if self.run_path else ()
        return (*search, f"-Wl,-soname,{self.soname}") if self.soname else search


def linking(
    request: BuildRequest, base_wheel: BaseWheel | None, archives: Mapping[str, Path], directory: Path
) -> Linking:
    """Decide which libraries to link.

    Args:
        request: the build.
        base_wheel: the unpacked official wheel, if one carries the core.
        archives: static libraries, by the recipe's names.
        directory: an empty one with a plain path, for links to libraries under the names that the linker wants.

    Raises:
        FailedError: the base wheel lacks a library that the build enables.
    """
    enabled = {name: library for name, library in request.enabled().items() if name not in archives}
    directory.mkdir(parents=True, exist_ok=True)
    for name, archive in archives.items():
        (directory / f"lib{request.recipe.libraries[name].link}.a").symlink_to(archive)
    own = (f"-L{directory}",)
    if base_wheel is not None:
        _link_bundled(request, base_wheel, enabled, directory)
        return Linking(flags=own, options=options(request, exclusive=True))
    if request.step.link is LinkMode.ENV and request.library_prefix is not None:
        library = request.library_prefix / "lib"
        _require_inside(library, enabled)
        return Linking(
            flags=(*own, f"-L{plain_path(library, directory / 'env')}"), options=options(request, exclusive=False)
        )
    return Linking(flags=own if archives else (), options=options(request, exclusive=False))


def make_standalone_location(request: BuildRequest) -> LinkLocation:
    """Return the place of a core that is the module itself, without an official wheel."""
    if request.step.link is LinkMode.ENV and request.library_prefix is not None:
        module = Path(request.interpreter.site_packages) / request.recipe.package
        return LinkLocation(run_path=f"$ORIGIN/{os.path.relpath(request.library_prefix / 'lib', module)}")
    return LinkLocation(run_path="")


def options(request: BuildRequest, *, exclusive: bool) -> dict[str, str]:
    """Return the build's options: required for enabled libraries; with `exclusive`, refused for all others."""
    enabled = request.enabled()
    known = {name: library for name, library in request.recipe.libraries.items() if library.option}
    found = {library.option: "enable" for name, library in known.items() if name in enabled}
    if exclusive:
        found |= {library.option: "disable" for name, library in known.items() if name not in enabled}
    return dict(sorted(found.items()))


def find_linked_libraries(request: BuildRequest) -> tuple[Path, ...]:
    """Return the library files that a build without an official wheel links, for the cache's key."""
    places = (request.library_prefix / "lib",) if request.library_prefix is not None else ()
    linked = (library for name, library in request.enabled().items() if name not in request.statics)
    found = (_find_development_library(request, library, places) for library in linked)
    return tuple(path.resolve() for path in found if path is not None)


def _link_bundled(
    request: BuildRequest, base_wheel: BaseWheel, enabled: Mapping[str, NativeRequirement], directory: Path
) -> None:
    for name, library in enabled.items():
        target = _find_carried_library(request, base_wheel, library)
        if target is None:
            raise FailedError(
                f"{base_wheel.filename} has no lib{library.link}, so it cannot carry a core with {name}",
                hint=f"leave out {name}, or pass --link system to build without the official wheel",
            )
        refuse_misfit(request, name, target.name)
        (directory / f"lib{library.link}.so").symlink_to(target)


def _find_carried_library(request: BuildRequest, base_wheel: BaseWheel, library: NativeRequirement) -> Path | None:
    """Return the library that the official core uses: the wheel's, or the host's (libz)."""
    bundled = base_wheel.library(library.link)
    if bundled is not None and base_wheel.libraries is not None:
        return base_wheel.libraries / bundled
    host = next((name for name in base_wheel.host if name.startswith(f"lib{library.link}.so")), None)
    return _ask_compiler_for_library(request, host) if host is not None else None


def _require_inside(library: Path, enabled: dict[str, NativeRequirement]) -> None:
    missing = sorted(name for name, each in enabled.items() if not (library / f"lib{each.link}.so").exists())
    if missing:
        conda = " ".join(package for name in missing for package in enabled[name].conda)
        raise FailedError(
            f"{library}: it lacks libraries: {', '.join(missing)}",
            hint=f"conda install -p {quote(library.parent)} {conda}, or pass --link bundle",
        )


def _find_development_library(
    request: BuildRequest, library: NativeRequirement, places: tuple[Path, ...]
) -> Path | None:
    name = f"lib{library.link}.so"
    inside = next((place / name for place in places if (place / name).exists()), None)
    return inside or _ask_compiler_for_library(request, name)


def _ask_compiler_for_library(request: BuildRequest, name: str) -> Path | None:
    """Return the library that the compiler finds; if it finds none, it echoes the name."""
    argv = (*request.compiler.command, f"-print-file-name={name}")
    answer = run(argv, environment=request.variables).stdout.strip()
    return Path(answer) if answer != name and answer else None


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
    """The C headers as the compiler finds them.

    Attributes:
        directories: passed with -I, in order.
        digest: of everything read, and of the compiler's own macros.
        versions: of the libraries' headers, by the recipe's names, if known.
        jpeg_abi: JPEG_LIB_VERSION ("62", "80"); empty without jpeglib.h.
        gcc: whether the compiler is GCC itself, not one that imitates it.
        clang: whether it is clang.
    """

    directories: tuple[Path, ...]
    digest: str
    versions: dict[str, str]
    jpeg_abi: str
    gcc: bool
    clang: bool = False


def probe_headers(request: BuildRequest) -> Headers:
    """Preprocess every header that the build includes.

    Raises:
        FailedError: Python.h or a library's header is missing, the hint names its packages; or fetched headers are for
            another build of Python.
    """
    directories = include_directories(request)
    text = preprocess(request, directories, _write_header_program(request, directories))
    missing = tuple(re.findall(rf"^{_MISSING} (\S+)$", text, re.MULTILINE))
    if missing:
        raise _explain_missing_headers(request, missing)
    if not request.interpreter.has_headers:
        refuse_other_python(request, {name: macro(name, text) for name in list_python_macros()})
    return Headers(
        directories=directories,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        versions=_read_versions(request, directories, text),
        jpeg_abi=macro("JPEG_LIB_VERSION", text),
        gcc=bool(macro("__GNUC__", text)) and not macro("__clang__", text),
        clang=bool(macro("__clang__", text)),
    )


def include_directories(request: BuildRequest) -> tuple[Path, ...]:
    """Return the directories before the system's: private headers, then those of the linked environment."""
    prefix = (request.library_prefix / "include",) if request.library_prefix is not None else ()
    return (*request.include_directories, *prefix)


def include_flags(directories: Iterable[Path]) -> tuple[str, ...]:
    """Return the compiler options that search them."""
    return tuple(f"-I{directory}" for directory in directories)


def preprocess(request: BuildRequest, directories: Iterable[Path], program: str) -> str:
    """Return what the compiler reads for a program, macros included, without the names of files.

    Raises:
        FailedError: the preprocessor refuses it.
    """
    python = (request.interpreter.include,)
    include = include_flags((*directories, *map(Path, python)))
    last = tuple(f"-idirafter{directory}" for directory in _list_header_directories(request, directories))
    flags = ("-pthread", *request.step.targets[0].cflags, *include, *last)
    argv = (*request.compiler.command, *flags, "-E", "-P", "-dD", "-x", "c", "-")
    return run(argv, environment=request.variables, stdin=program, timeout=_SECONDS).stdout


def macro(name: str, text: str) -> str:
    """Return a macro's value in preprocessed text, or "" if it is not defined."""
    match = re.search(rf"^#define {name}\s+(.+?)\s*$", text, re.MULTILINE)
    return match[1] if match else ""


def _list_header_directories(request: BuildRequest, directories: Iterable[Path]) -> Iterator[Path]:
    """Yield directories where a header finds its siblings, as freetype2/ft2build.h does; setup.py adds them too."""
    places = (*directories, *_SYSTEM_DIRECTORIES)
    names = {Path(library.header).parent for library in request.enabled().values() if "*" not in library.header}
    return (place / name for name in sorted(names - {Path()}) for place in places if (place / name).is_dir())


def _write_header_program(request: BuildRequest, directories: tuple[Path, ...]) -> str:
    lines = ["#include <stddef.h>", "#include <stdio.h>", *_write_include("Python", "<Python.h>")]
    for name, library in _observe_libraries(request).items():
        lines += _write_include(name, _spell_library(library, directories))
    return "\n".join(lines) + "\n"


def _observe_libraries(request: BuildRequest) -> dict[str, NativeRequirement]:
    """Return libraries with headers of the machine; libraries that are built here bring theirs."""
    return {name: library for name, library in request.enabled().items() if name not in request.statics}


def _write_include(name: str, header: str) -> Iterator[str]:
    yield f"#if __has_include({header})"
    yield f"#include {header}"
    yield "#else"
    yield f"{_MISSING} {name}"
    yield "#endif"


def _spell_library(library: NativeRequirement, directories: tuple[Path, ...]) -> str:
    if "*" not in library.header:
        return f"<{library.header}>"
    found = _find_versioned_header(library, directories)
    return f'"{found}"' if found else f"<{library.header.replace('*', 'any')}>"


def _find_versioned_header(library: NativeRequirement, directories: tuple[Path, ...]) -> Path | None:
    """Return a header in a directory named after its version, as Pillow's setup.py looks for openjpeg's."""
    places = (*directories, *_SYSTEM_DIRECTORIES)
    return next((path for place in places for path in sorted(place.glob(library.header), reverse=True)), None)


def _read_versions(request: BuildRequest, directories: tuple[Path, ...], text: str) -> dict[str, str]:
    found = {}
    for name, library in _observe_libraries(request).items():
        match = re.search(rf"^#define {_VERSION_MACROS.get(library.header, '(?!)')}", text, re.MULTILINE)
        if match:
            found[name] = match[1]
        elif path := _find_versioned_header(library, directories) if "*" in library.header else None:
            found[name] = path.parent.name.rpartition("-")[2]
    return found


def _explain_missing_headers(request: BuildRequest, names: tuple[str, ...]) -> FailedError:
    if "Python" in names:
        return missing_python_headers(request)
    libraries = {name: request.recipe.libraries[name] for name in names}
    listed = ", ".join(f"{library.header} ({name})" for name, library in libraries.items())
    needs = BuildNeeds(libraries=tuple(libraries.values()))
    return FailedError(f"C headers are missing: {listed}", hint=explain_packages(request, needs))


def missing_python_headers(request: BuildRequest) -> FailedError:
    """Return the error that Python.h is missing from the interpreter's include directory."""
    minor = ".".join(request.interpreter.version.split(".")[:2])
    return FailedError(
        f"{request.interpreter.include}/Python.h is missing: {request.interpreter.executable} has no C headers",
        hint=explain_packages(request, BuildNeeds(python=minor)),
    )


def explain_packages(request: BuildRequest, needs: BuildNeeds) -> str:
    """Return the hint that names this machine's packages."""
    manager = find_package_manager(request.variables)
    return needs.explain([manager] if manager else [])


_ABIS = {"62": "62", "7": "70", "8": "80", "9": "90"}
_PROGRAM = "#include <stddef.h>\n#include <stdio.h>\n#include <jpeglib.h>\n"
_DEFINITION = re.compile(r"^(\s*#\s*define\s+JPEG_LIB_VERSION\s+)\d+", re.MULTILINE)


def abi_of_library(name: str) -> str:
    """Return JPEG_LIB_VERSION of a library by its file name ("libjpeg-32d42e18.so.62.4.0"); empty if unknown."""
    match = re.search(r"\.so\.(\d+)", name)
    return _ABIS.get(match[1], "") if match else ""


def matching_headers(request: BuildRequest, headers: Headers, library: str, directory: Path) -> tuple[Path, ...]:
    """Return directories to search first, so that the jpeg headers fit a library.

    Args:
        request: the build.
        headers: as found.
        library: file name of the linked libjpeg.
        directory: for a private copy.

    Raises:
        FailedError: the headers are not libjpeg-turbo's, so a copy would not work.
    """
    wanted = abi_of_library(library)
    if not headers.jpeg_abi or not wanted or headers.jpeg_abi == wanted:
        return ()
    if not macro("LIBJPEG_TURBO_VERSION", preprocess(request, headers.directories, _PROGRAM)):
        raise FailedError(
            f"jpeglib.h is not libjpeg-turbo's: its ABI is {headers.jpeg_abi}, but {library} needs {wanted}",
            hint="install libjpeg-turbo's headers: libjpeg62-turbo-dev (Debian), libjpeg-turbo8-dev (Ubuntu), "
            "libjpeg-turbo-devel (Fedora)",
        )
    for header in _list_jpeg_headers(request, headers.directories):
        text = header.read_text(encoding="utf-8", errors="surrogateescape")
        files.write_bytes(directory / header.name, _adapt_header(text, wanted).encode("utf-8", "surrogateescape"))
    return (directory,)


def _adapt_header(text: str, abi: str) -> str:
    return _DEFINITION.sub(rf"\g<1>{abi}", text)


def _list_jpeg_headers(request: BuildRequest, directories: tuple[Path, ...]) -> tuple[Path, ...]:
    """List the files of <jpeglib.h>: those that the compiler reads besides the standard library's."""
    argv = (*request.compiler.command, *include_flags(directories), "-M", "-x", "c", "-")
    rule = run(argv, environment=request.variables, stdin=_PROGRAM).stdout
    paths = map(Path, rule.replace("\\\n", " ").split())
    return tuple(path for path in paths if re.fullmatch(r"j(peglib|config|morecfg|error)[\w-]*\.h", path.name))
