"""Probe the C headers as the compiler finds them, unpack fetched packages of headers, and adapt libjpeg's headers.

One run of the preprocessor with the build's flags shows which headers exist and which versions they have, and gives a
digest of everything that the compiler would read. The digest changes with any header, with glibc, with the compiler and
with the CPU behind `-march=native`, but not with the location of a header.

The jpeg headers are adapted to the ABI of the linked libjpeg. libjpeg-turbo emulates one of several ABIs: the soname
shows which one (libjpeg.so.62 is 62, libjpeg.so.8 is 80), and so does JPEG_LIB_VERSION in jconfig.h, which decides the
layout of structures. Debian's and Fedora's headers have 62, Ubuntu's 80; the libjpeg of official wheels has 62. A core
that was compiled for another ABI than the library's cannot decode ("library is 62, caller expects 80"). The headers
differ in nothing else, so a private copy with the right number works. LIBJPEG_TURBO_VERSION, which Pillow reports as
the library's version, is replaced too; LIBJPEG_TURBO_VERSION_NUMBER, from which C code learns which declarations exist,
is kept.

Fetched headers come from Debian's packages for x86-64. They are unpacked to `<cache>/headers/<key>/usr/include`; the
key is derived from the package's hash. Library headers in Debian's packages for arm64 are identical. Python's headers
differ only in four macros of pyconfig.h, of which public headers read only HAVE_USABLE_WCHAR_T, to include <wchar.h>.
Sizes of types are the same (LP64). So to use these headers for arm64, it suffices to rename the directory named after
the architecture.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastinstall.core import files, sealed_trees
from fastinstall.core.architecture import X86_64, Architecture
from fastinstall.core.archives import unpack_deb
from fastinstall.core.errors import FailedError
from fastinstall.core.messages import listing
from fastinstall.core.parsing import json_data
from fastinstall.core.process import run
from fastinstall.core.root_commands import find_root_prefix
from fastinstall.core.values import immutable
from fastinstall.model.recipe import BuildNeeds, NativeRequirement
from fastinstall.observe.toolchain import find_package_manager
from fastinstall.wheelbuild.build_inputs import BuildRequest

_SYSTEM_DIRECTORIES = (Path("/usr/local/include"), Path("/usr/include"))


_MISSING = "fastinstall_missing_header"


_SECONDS = 60.0


_VERSION_MACROS = {
    "jpeglib.h": r"LIBJPEG_TURBO_VERSION\s+(\S+)",
    "zlib.h": r'ZLIB_VERSION\s+"([^"]+)"',
    "tiffio.h": r'TIFFLIB_VERSION_STR(?:_MAJ_MIN_MIC)?\s+"(?:LIBTIFF, Version )?([\d.]+)',
}

_LAYOUT = (
    *("SIZEOF_LONG", "SIZEOF_LONG_LONG", "SIZEOF_VOID_P", "SIZEOF_SIZE_T", "SIZEOF_OFF_T", "SIZEOF_TIME_T"),
    *("SIZEOF_WCHAR_T", "Py_DEBUG", "Py_TRACE_REFS", "Py_GIL_DISABLED"),
)
"""Macros that decide the layout of Python's structures; the rest of pyconfig.h describes the C library."""

_LAYOUT_PROGRAM = f"""\
import json, sys, sysconfig
found = {{name: sysconfig.get_config_var(name) for name in {_LAYOUT!r}}}
found["PY_MINOR_VERSION"], found["PYLONG_BITS_IN_DIGIT"] = sys.version_info[1], sys.int_info.bits_per_digit
print(json.dumps(found))
"""
"""Prints the values of the `_LAYOUT` macros, which sysconfig knows even if the interpreter's pyconfig.h is not
installed."""


@immutable
class Headers:
    """The C headers as the compiler finds them.

    Attributes:
        directories: directories passed with -I, in order.
        digest: SHA-256 of all text that the compiler reads, and of its predefined macros.
        versions: versions of the libraries' headers, if known, by the recipe's names.
        jpeg_abi: JPEG_LIB_VERSION ("62", "80"); empty without jpeglib.h.
        gcc: whether the compiler is GCC itself, not one that imitates it.
        clang: whether the compiler is clang.
    """

    directories: tuple[Path, ...]
    digest: str
    versions: dict[str, str]
    jpeg_abi: str
    gcc: bool
    clang: bool = False


def probe_headers(request: BuildRequest) -> Headers:
    """Preprocess all headers that the build includes, and return their properties.

    Raises:
        FailedError: Python.h or a library's header is missing (the hint names packages that contain it), or fetched
            headers are for another build of Python.
    """
    environment = (request.library_prefix / "include",) if request.library_prefix is not None else ()
    directories = (*request.include_directories, *environment)
    text = preprocess(request, directories, _write_header_program(request, directories))
    missing = tuple(re.findall(rf"^{_MISSING} (\S+)$", text, re.MULTILINE))
    if missing:
        if "Python" in missing:
            raise missing_python_headers(request)
        libraries = {name: request.recipe.libraries[name] for name in missing}
        listed = ", ".join(f"{library.header} ({name})" for name, library in libraries.items())
        hint = explain_packages(request, BuildNeeds(libraries=tuple(libraries.values())))
        raise FailedError(f"C headers are missing: {listed}", hint=hint)
    if not request.interpreter.has_headers:
        _refuse_other_python(request, text)
    return Headers(
        directories=directories,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        versions=_read_versions(request, directories, text),
        jpeg_abi=macro("JPEG_LIB_VERSION", text),
        gcc=bool(macro("__GNUC__", text)) and not macro("__clang__", text),
        clang=bool(macro("__clang__", text)),
    )


def include_flags(directories: Iterable[Path]) -> tuple[str, ...]:
    """Return compiler options to search directories for headers."""
    return tuple(f"-I{directory}" for directory in directories)


def preprocess(request: BuildRequest, directories: Iterable[Path], program: str) -> str:
    """Return the preprocessed text of a C program, with macro definitions and without file names.

    Raises:
        FailedError: the preprocessor reports an error.
    """
    include = include_flags((*directories, request.interpreter.include))
    last = tuple(f"-idirafter{directory}" for directory in _list_header_directories(request, directories))
    flags = ("-pthread", *request.step.targets[0].cflags, *include, *last)
    argv = (*request.compiler.command, *flags, "-E", "-P", "-dD", "-x", "c", "-")
    return run(argv, environment=request.variables, stdin=program, timeout=_SECONDS, while_working=True).stdout


def macro(name: str, text: str) -> str:
    """Return a macro's value in preprocessed text, or "" if it is not defined."""
    match = re.search(rf"^#define {name}\s+(.+?)\s*$", text, re.MULTILINE)
    return match[1] if match else ""


def _list_header_directories(request: BuildRequest, directories: Iterable[Path]) -> Iterator[Path]:
    """Return the subdirectories whose headers (freetype2/ft2build.h) include each other by bare name."""
    places = (*directories, *_SYSTEM_DIRECTORIES)
    names = {Path(library.header).parent for library in request.enabled().values() if "*" not in library.header}
    return (place / name for name in sorted(names - {Path()}) for place in places if (place / name).is_dir())


def _write_header_program(request: BuildRequest, directories: tuple[Path, ...]) -> str:
    libraries = {name: _spell_library(each, directories) for name, each in _observe_libraries(request).items()}
    lines = ["#include <stddef.h>", "#include <stdio.h>"]
    for name, header in {"Python": "<Python.h>", **libraries}.items():
        lines += (f"#if __has_include({header})", f"#include {header}", "#else", f"{_MISSING} {name}", "#endif")
    return "\n".join(lines) + "\n"


def _observe_libraries(request: BuildRequest) -> dict[str, NativeRequirement]:
    """Return the enabled libraries whose headers must exist; libraries built from their own sdists are left out."""
    return {name: library for name, library in request.enabled().items() if name not in request.statics}


def _spell_library(library: NativeRequirement, directories: tuple[Path, ...]) -> str:
    if "*" not in library.header:
        return f"<{library.header}>"
    found = _find_versioned_header(library, directories)
    return f'"{found}"' if found else f"<{library.header.replace('*', 'any')}>"


def _find_versioned_header(library: NativeRequirement, directories: tuple[Path, ...]) -> Path | None:
    """Return the path of a library's header in a directory with a version in its name ("openjpeg-2.5"), or None."""
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


def _refuse_other_python(request: BuildRequest, text: str) -> None:
    """Raise FailedError if fetched headers are for another build of Python.

    Headers that are installed on the machine are not checked: the user chose them.
    """
    argv = (str(request.interpreter.executable), "-I", "-S", "-c", _LAYOUT_PROGRAM)
    own = json_data(run(argv, environment=request.variables, timeout=_SECONDS, while_working=True).stdout)
    differences = [
        f"{name} is {expected or 'undefined'}, not {found or 'undefined'}"
        for name, value in own.items()
        if (found := macro(name, text)) != (expected := str(value or ""))
    ]
    if differences:
        executable = request.interpreter.executable
        raise FailedError(
            f"the C headers that fastinstall fetches are not for {executable}: {listing(differences)}",
            hint="install this Python's own C headers, or use another Python",
        )


def missing_python_headers(request: BuildRequest) -> FailedError:
    """Return an error saying that Python.h is missing from the interpreter's include directory."""
    python = request.interpreter
    return FailedError(
        f"{python.include}/Python.h is missing: {python.executable} has no C headers",
        hint=explain_packages(request, BuildNeeds(python="" if python.free_threaded else python.minor)),
    )


def explain_packages(request: BuildRequest, needs: BuildNeeds) -> str:
    """Return a hint that names the packages to install with this machine's package manager."""
    return needs.explain(find_package_manager(request.variables), as_root=find_root_prefix(request.variables))


_ABIS = {"62": "62", "7": "70", "8": "80", "9": "90"}


_PROGRAM = "#include <stddef.h>\n#include <stdio.h>\n#include <jpeglib.h>\n"


_ABI_DEFINITION = re.compile(r"^(\s*#\s*define\s+JPEG_LIB_VERSION\s+)\d+", re.MULTILINE)
_VERSION_DEFINITION = re.compile(r"^(\s*#\s*define\s+LIBJPEG_TURBO_VERSION\s+)\S+", re.MULTILINE)


def abi_of_library(name: str) -> str:
    """Return the JPEG_LIB_VERSION of a libjpeg, judged by its file name; empty if unknown.

    >>> abi_of_library("libjpeg-32d42e18.so.62.4.0"), abi_of_library("libjpeg.so.8")
    ('62', '80')
    """
    match = re.search(r"\.so\.(\d+)", name)
    return _ABIS.get(match[1], "") if match else ""


def matching_headers(
    request: BuildRequest, headers: Headers, library: str, version: str, directory: Path
) -> tuple[Path, ...]:
    """Adapt the jpeg headers to the ABI and version of a library; return the directories to search before all others.

    If the headers differ from the library, adapted copies are written into `directory`, and only `directory` is
    returned. If they match, or cannot be compared, the result is empty.

    Args:
        library: file name of the linked libjpeg.
        version: the library's libjpeg-turbo version ("3.2.0"); empty if unknown.
        directory: directory for the adapted copies.

    Raises:
        FailedError: the headers are not libjpeg-turbo's, so they cannot be adapted.
    """
    wanted = abi_of_library(library)
    if not headers.jpeg_abi or not wanted:
        return ()
    described = headers.versions.get("jpeg", "")
    if headers.jpeg_abi == wanted and (not version or not described or described == version):
        return ()
    if not described:
        raise FailedError(
            f"jpeglib.h is not libjpeg-turbo's: its ABI is {headers.jpeg_abi}, but {library} needs {wanted}",
            hint="install libjpeg-turbo's headers: libjpeg62-turbo-dev (Debian), libjpeg-turbo8-dev (Ubuntu), "
            "libjpeg-turbo-devel (Fedora)",
        )
    for header in _list_jpeg_headers(request, headers.directories):
        text = header.read_text(encoding="utf-8", errors="surrogateescape")
        adapted = _ABI_DEFINITION.sub(rf"\g<1>{wanted}", text)
        adapted = _VERSION_DEFINITION.sub(rf"\g<1>{version}", adapted) if version else adapted
        files.write_bytes(directory / header.name, adapted.encode("utf-8", "surrogateescape"))
    return (directory,)


def _list_jpeg_headers(request: BuildRequest, directories: tuple[Path, ...]) -> tuple[Path, ...]:
    """List the jpeg headers that the compiler reads for <jpeglib.h>."""
    argv = (*request.compiler.command, *include_flags(directories), "-M", "-x", "c", "-")
    rule = run(argv, environment=request.variables, stdin=_PROGRAM).stdout
    paths = map(Path, split_make_rule(rule))
    return tuple(path for path in paths if re.fullmatch(r"j(peglib|config|morecfg|error)[\w-]*\.h", path.name))


def split_make_rule(rule: str) -> tuple[str, ...]:
    r"""Split a make rule, as compilers write it (-M), into words, and remove the escapes of spaces, `#` and `$`.

    >>> split_make_rule("-: /usr/include/stdio.h \\\n /a\\ b/jpeg$$lib.h\n")
    ('-:', '/usr/include/stdio.h', '/a b/jpeg$lib.h')
    """
    words = re.findall(r"(?:\\.|[^\s\\])+", rule.replace("\\\n", " "))
    return tuple(re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words)


PACKAGED = X86_64
"""The architecture whose packages are fetched."""

_INCLUDE = "usr/include"
_ARCHITECTURE = re.compile(r"\w+-linux-\w+")


def unpack_headers(package: Path, cache: Path, architecture: Architecture = PACKAGED) -> tuple[Path, ...]:
    """Unpack a package of C headers, and return its include directories.

    Args:
        package: a Debian package, whose hash was verified.
        cache: root of our cache.
        architecture: architecture to build for.

    Raises:
        ArchiveError: the package is damaged.
        OSError: the cache cannot be written.
    """
    key, renamed = files.sha256(package)[:16], architecture.target != PACKAGED.target
    place = cache / "headers" / (f"{key}-{architecture.machine}" if renamed else key)

    def unpack(tree: Path) -> None:
        unpack_deb(package, tree, f"{_INCLUDE}/")
        own = tree / _INCLUDE / PACKAGED.target
        if renamed and own.is_dir():
            own.rename(own.with_name(architecture.target))

    return list_include_directories(sealed_trees.make_once(place, unpack, cache=cache))


def list_include_directories(root: Path) -> tuple[Path, ...]:
    """Return the include directories of an unpacked package: `usr/include`, and its subdirectories that need an -I."""
    include = root / _INCLUDE
    if not include.is_dir():
        return ()
    own = sorted(path for path in include.iterdir() if path.is_dir() and _ARCHITECTURE.fullmatch(path.name))
    return (include, *own, *sorted(include.glob("python3.*")))
