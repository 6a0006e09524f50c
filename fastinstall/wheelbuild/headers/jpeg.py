"""Adapt the jpeg headers to the ABI of the linked libjpeg.

libjpeg-turbo emulates one of several ABIs of libjpeg. Two places show which one: the soname (libjpeg.so.62 is version
62, libjpeg.so.8 is 80) and JPEG_LIB_VERSION of jconfig.h, which lays out the structures. Debian's and Fedora's headers
say 62, Ubuntu's 80, the official wheels' says 62; a core compiled for another version refuses to decode ("library is
62, caller expects 80"). The headers are otherwise the same, so a private copy with the right number works.
"""

import re
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.process import run
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers.probe import Headers, include_flags, macro, preprocess

_ABIS = {"62": "62", "7": "70", "8": "80", "9": "90"}


_PROGRAM = "#include <stddef.h>\n#include <stdio.h>\n#include <jpeglib.h>\n"


_DEFINITION = re.compile(r"^(\s*#\s*define\s+JPEG_LIB_VERSION\s+)\d+", re.MULTILINE)


def abi_of_library(name: str) -> str:
    """Return JPEG_LIB_VERSION of a library by its file name; empty if unknown.

    >>> abi_of_library("libjpeg-32d42e18.so.62.4.0"), abi_of_library("libjpeg.so.8")
    ('62', '80')
    """
    match = re.search(r"\.so\.(\d+)", name)
    return _ABIS.get(match[1], "") if match else ""


def matching_headers(request: BuildRequest, headers: Headers, library: str, directory: Path) -> tuple[Path, ...]:
    """Return directories to search first, so that the jpeg headers fit a library.

    Args:
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
        adapted = _DEFINITION.sub(rf"\g<1>{wanted}", text)
        files.write_bytes(directory / header.name, adapted.encode("utf-8", "surrogateescape"))
    return (directory,)


def _list_jpeg_headers(request: BuildRequest, directories: tuple[Path, ...]) -> tuple[Path, ...]:
    """List the files of <jpeglib.h>: those that the compiler reads besides the standard library's."""
    argv = (*request.compiler.command, *include_flags(directories), "-M", "-x", "c", "-")
    rule = run(argv, environment=request.variables, stdin=_PROGRAM).stdout
    paths = map(Path, rule.replace("\\\n", " ").split())
    return tuple(path for path in paths if re.fullmatch(r"j(peglib|config|morecfg|error)[\w-]*\.h", path.name))
