"""Make the jpeg headers speak of the ABI of the libjpeg that is linked.

libjpeg-turbo emulates one of several ABIs of libjpeg. Which one stands in two places: in the
soname (libjpeg.so.62 is version 62, libjpeg.so.8 is 80) and in JPEG_LIB_VERSION of jconfig.h,
which lays out the structures. Debian's and Fedora's headers say 62, Ubuntu's 80, the official
wheels' library 62; a core that is compiled for another refuses to decode ("library is 62, caller
expects 80"). The headers are otherwise the same, so a private copy with the right number serves.
"""

import re
from pathlib import Path

from fastinstall.build.headers import Headers, include_flags, macro, preprocess
from fastinstall.build.request import BuildRequest
from fastinstall.errors import FailedError
from fastinstall.system import files
from fastinstall.system.process import run

_ABIS = {"62": "62", "7": "70", "8": "80", "9": "90"}
_PROGRAM = "#include <stddef.h>\n#include <stdio.h>\n#include <jpeglib.h>\n"
_DEFINITION = re.compile(r"^(\s*#\s*define\s+JPEG_LIB_VERSION\s+)\d+", re.MULTILINE)


def abi_of_library(name: str) -> str:
    """JPEG_LIB_VERSION of a library by its file name ("libjpeg-32d42e18.so.62.4.0"); empty if unknown."""
    match = re.search(r"\.so\.(\d+)", name)
    return _ABIS.get(match[1], "") if match else ""


def matching_headers(request: BuildRequest, headers: Headers, library: str, directory: Path) -> tuple[Path, ...]:
    """Directories to search before all others, so that the jpeg headers fit a library.

    Args:
        request: the build.
        headers: as found.
        library: file name of the libjpeg that is linked.
        directory: where a private copy may be put.

    Raises:
        FailedError: the headers are not libjpeg-turbo's, so that no copy of them would do.
    """
    wanted = abi_of_library(library)
    if not headers.jpeg_abi or not wanted or headers.jpeg_abi == wanted:
        return ()
    if not macro("LIBJPEG_TURBO_VERSION", preprocess(request, headers.directories, _PROGRAM)):
        raise FailedError(
            f"jpeglib.h is not libjpeg-turbo's: its ABI is {headers.jpeg_abi}, and that of {library} is {wanted}",
            hint="apt-get install libjpeg-turbo8-dev (or libjpeg62-turbo-dev), or dnf install libjpeg-turbo-devel",
        )
    for header in _jpeg_files(request, headers.directories):
        text = header.read_text(encoding="utf-8", errors="surrogateescape")
        files.write_bytes(directory / header.name, _adapted(text, wanted).encode("utf-8", "surrogateescape"))
    return (directory,)


def _adapted(text: str, abi: str) -> str:
    return _DEFINITION.sub(rf"\g<1>{abi}", text)


def _jpeg_files(request: BuildRequest, directories: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files that <jpeglib.h> consists of: those that the compiler reads besides the standard library's."""
    argv = (*request.compiler.command, *include_flags(directories), "-M", "-x", "c", "-")
    rule = run(argv, environment=request.variables, stdin=_PROGRAM).stdout
    paths = map(Path, rule.replace("\\\n", " ").split())
    return tuple(path for path in paths if re.fullmatch(r"j(peglib|config|morecfg|error)[\w-]*\.h", path.name))
