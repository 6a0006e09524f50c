"""Pillow and its image libraries as conda-forge has them today, for the local channel.

The files come from Pillow's wheels: bundled libraries become libraries of the environment with their plain sonames. The
headers are this machine's. Versions of the packages resemble those on conda-forge, but do not describe the files.
"""

import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.conda.packages import CondaPackage, Entry, text_entry, wheel_entries
from support.elf.jpeg_libraries import linked_by_name
from support.elf.linked_pillow import LIKE_CONDA, plain_name, relink
from support.index.cached_files import fetched

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = f"lib/python{MINOR}/site-packages/"
SOME_PYTHON = f"python >={MINOR}.0a0,<{sys.version_info.major}.{sys.version_info.minor + 1}.0a0"
PILLOW, NEWER_PILLOW = "12.1.1", "13.0.0"
OLD_TURBO = "2.1.5.1"
"""A libjpeg-turbo in name only; like old ones, it permits `jpeg` beside it. Its files are those of the newer one."""

_DIGITS = f"{sys.version_info.major}{sys.version_info.minor}"
BUILD = f"py{_DIGITS}h1234567_0"
_LIBRARIES = ("libjpeg-turbo >=3.1,<4.0a0", "libtiff >=4.7,<4.8.0a0", "openjpeg >=2.5,<3.0a0", "libxcb >=1.17,<2.0a0")
_PACKERS = ("libzlib", "liblzma")
_XCB_HEADERS = ("xcb.h", "xproto.h", "xcbext.h", "bigreq.h", "xc_misc.h")
_OPENJPEG_HEADERS = ("openjpeg.h", "opj_config.h", "opj_stdint.h")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A wheel of Pillow, split into package and libraries.

    Attributes:
        pillow: files of the package, linked with libraries of the prefix.
        libraries: these libraries, by file name in `lib`.
    """

    pillow: Mapping[str, Entry]
    libraries: Mapping[str, Path]

    def named(self, *stems: str) -> dict[str, Path]:
        """Return the libraries with these stems, such as "libjpeg"."""
        return {name: path for name, path in self.libraries.items() if name.partition(".so")[0] in stems}


def linked_wheels(cache: Path, scratch: Path) -> tuple[Linked, Linked]:
    """Return the split wheels of PILLOW and NEWER_PILLOW.

    Args:
        cache: fastinstall's cache, for downloads.
        scratch: a directory for relinked files, needed until the packages are written.
    """
    wheels = fetched(cache, *map(official_name, (PILLOW, NEWER_PILLOW)))
    usual, newer = (_linked(wheel, scratch / f"linked-{number}") for number, wheel in enumerate(wheels.values()))
    return usual, newer


def stack_packages(usual: Linked, newer: Linked) -> tuple[CondaPackage, ...]:
    """Return packages of both Pillows, and of the newer wheel's libraries, with which both Pillows are linked."""
    return (_pillow(PILLOW, usual), _pillow(NEWER_PILLOW, newer), *_libraries(newer), *_zlib())


def official_name(version: str) -> str:
    """Return the file name of Pillow's wheel for the interpreter that runs the tests."""
    tag = f"cp{_DIGITS}"
    return f"pillow-{version}-{tag}-{tag}-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"


def library(name: str, version: str, files: Mapping[str, Entry], *depends: str) -> CondaPackage:
    """Return a package of libraries and headers."""
    return CondaPackage(name=name, version=version, build="h1234567_0", depends=depends, files=files)


def installed(libraries: Mapping[str, Path]) -> dict[str, Entry]:
    """Return libraries in `lib`, and links with the names that the linker searches."""
    files = {f"lib/{name}": Entry(source=path, mode=0o755) for name, path in libraries.items()}
    return {**files, **{f"lib/{name.partition('.so')[0]}.so": Entry(link=name) for name in libraries}}


def headers(including: str, names: Iterable[str], *, below: str = "include", search: str = "") -> dict[str, Entry]:
    """Return headers of this machine.

    Args:
        including: a header that includes all of them.
        names: file names of the headers to return.
        below: their directory in the package.
        search: another directory for the compiler to search.
    """
    argv = ("gcc", "-M", "-x", "c", "-", *((f"-I{search}",) if search else ()))
    program = f"#include <stdio.h>\n#include <{including}>\n"
    rule = subprocess.run(argv, input=program, capture_output=True, text=True, check=True).stdout
    paths = {Path(word).name: Path(word) for word in shlex.split(rule.replace("\\\n", ""))}
    return {f"{below}/{name}": Entry(source=paths[name]) for name in names if name in paths}


def tiff_headers() -> dict[str, Entry]:
    """Return the headers of libtiff."""
    return headers("tiffio.h", ("tiff.h", "tiffio.h", "tiffconf.h", "tiffvers.h"))


def _pillow(version: str, linked: Linked) -> CondaPackage:
    return CondaPackage(
        name="pillow",
        version=version,
        build=BUILD,
        depends=(SOME_PYTHON, *_LIBRARIES, "libzlib >=1.3.1,<2.0a0", "imagelibs"),
        files=linked.pillow,
    )


def _libraries(linked: Linked) -> Iterator[CondaPackage]:
    """Yield a package for each library that the core is linked with, and one for all others."""
    own = ("libjpeg", "libtiff", "libopenjp2", "libxcb", "libXau", "liblzma")
    jpeg, tiff, openjpeg, xcb, xau, lzma = (installed(linked.named(stem)) for stem in own)
    jpeg_headers = headers("jpeglib.h", ("jpeglib.h", "jconfig.h", "jmorecfg.h", "jerror.h"))
    others = {name: path for name, path in linked.libraries.items() if name not in linked.named(*own)}
    yield _turbo("3.1.4", {**jpeg, **jpeg_headers}, "jpeg <0.0.0a")
    yield _turbo(OLD_TURBO, {**jpeg, **jpeg_headers})
    yield library("libtiff", "4.7.2", {**tiff, **tiff_headers()}, _LIBRARIES[0], *_PACKERS, "imagelibs")
    yield library("openjpeg", "2.5.4", {**openjpeg, **_openjpeg_headers()})
    yield library("libxcb", "1.17.0", {**xcb, **xau, **_xcb_headers()})
    yield library("liblzma", "5.8.1", lzma)
    yield library("imagelibs", "1.0", installed(others), *_PACKERS)


def _turbo(version: str, files: Mapping[str, Entry], *constrains: str) -> CondaPackage:
    return CondaPackage(name="libjpeg-turbo", version=version, build="hb03c661_0", constrains=constrains, files=files)


def _zlib() -> tuple[CondaPackage, CondaPackage]:
    """Return this machine's zlib, with its headers in a package of their own."""
    files = installed({"libz.so.1": linked_by_name("z").resolve()})
    by_linker = {"lib/libz.so": files.pop("lib/libz.so")}
    development = {**by_linker, **headers("zlib.h", ("zlib.h", "zconf.h"))}
    return library("libzlib", "1.3.1", files), library("zlib", "1.3.1", development, "libzlib 1.3.1")


def _openjpeg_headers() -> dict[str, Entry]:
    (directory, *_) = sorted(Path("/usr/include").glob("openjpeg-*/openjpeg.h"), reverse=True) or [Path()]
    if not directory.name:
        return {}
    below = f"include/{directory.parent.name}"
    return headers("openjpeg.h", _OPENJPEG_HEADERS, below=below, search=str(directory.parent))


def _xcb_headers() -> dict[str, Entry]:
    return headers("xcb/xcb.h", _XCB_HEADERS, below="include/xcb") if Path("/usr/include/xcb/xcb.h").is_file() else {}


def _linked(wheel: Path, directory: Path) -> Linked:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    names = {path.name: plain_name(path.name) for path in sorted((directory / "pillow.libs").iterdir())}
    libraries = {plain: directory / plain for plain in names.values()}
    for old, plain in names.items():
        shutil.copy(directory / "pillow.libs" / old, libraries[plain])
        relink(libraries[plain], names, "$ORIGIN", "--set-soname", plain)
    for module in directory.glob("PIL/*.so"):
        relink(module, names, LIKE_CONDA)
    files = {path: entry for path, entry in wheel_entries(wheel, "").items() if ".libs/" not in path}
    pillow = {f"{SITE}{path}": _relinked(directory, path, entry) for path, entry in files.items()}
    return Linked(pillow=pillow, libraries=libraries)


def _relinked(directory: Path, path: str, entry: Entry) -> Entry:
    """Return a wheel's file as conda packages it: a module relinked, RECORD without the libraries, others unchanged."""
    if path.endswith(".so"):
        return Entry(source=directory / path, mode=0o755)
    if path.endswith(".dist-info/RECORD"):
        lines = entry.data.decode().splitlines(keepends=True)
        return text_entry("".join(line for line in lines if ".libs/" not in line))
    return entry
