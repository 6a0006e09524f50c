"""Pillow's own imaging core, compiled against an environment's libjpeg, as source builds are.

Only the parts that depend on libjpeg and libtiff are compiled for each library; the rest is compiled once.
"""

import re
import shlex
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.elf.jpeg_libraries import compile_all, gcc, patchelf

from fastinstall.wheelbuild.prepare import extract_source

SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
LIKE_CONDA = "$ORIGIN/../../.."
"""Search path from a package in site-packages to the `lib` of the prefix."""

BY_RUNPATH = ("-Wl,--enable-new-dtags", f"-Wl,-rpath,{LIKE_CONDA}")
BY_RPATH_OF_WHEELS = ("-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/../pillow.libs")
SYSTEM_TIFF = "-ltiff"

_ABIS = {"62": "62", "7": "70", "8": "80"}
_DEPENDENT = ("_imaging", "decode", "encode", "JpegDecode", "JpegEncode", "TiffDecode")
_OTHER_SONAMES = {"libopenjp2": "7"}  # sonames whose number differs from the version in the file name
_LEFT_OUT = ("_avif", "_imagingcms", "_imagingft", "_imagingmath", "_imagingmorph", "_imagingtk", "_webp")


@dataclass(frozen=True, slots=True, kw_only=True)
class PillowSource:
    """Pillow's source, with those parts of its core compiled that depend on no image library.

    Attributes:
        directory: the unpacked sdist.
        flags: flags of the compiler.
        objects: object files that depend on no image library.
    """

    directory: Path
    flags: tuple[str, ...]
    objects: tuple[Path, ...]

    def link(self, core: Path, jpeg: Path, *, tiff: str | Path = "", linker: Sequence[str] = ()) -> Path:
        """Link a core that needs this libjpeg by its soname.

        Args:
            core: path of the core.
            jpeg: the library; the number after its `.so` determines the ABI.
            tiff: a libtiff, or SYSTEM_TIFF; empty for none.
            linker: further options, such as a search path.
        """
        abi = _ABIS[jpeg.name.partition(".so.")[2].partition(".")[0]]
        name = f"{abi}-tiff" if tiff else abi
        features = ("-DHAVE_LIBJPEG", "-DHAVE_LIBTIFF" if tiff else "-UHAVE_LIBTIFF")
        include = f"-I{_headers(abi, self.directory / f'jpeg-{abi}')}"
        sources = [path for path in _sources(self.directory) if path.stem in _DEPENDENT]
        objects = compile_all(sources, self.directory / name, include, *features, *self.flags)
        libraries = (jpeg, *((tiff,) if tiff else ()), "-lz")
        gcc("-shared", "-o", core, *objects, *self.objects, *libraries, *linker)
        return core


def pillow_source(sdist: Path, directory: Path, *flags: str) -> PillowSource:
    """Unpack Pillow, and compile the parts that every core needs; `flags` are the compiler's."""
    root = extract_source(sdist, directory)
    sources = [path for path in _sources(root) if path.stem not in _DEPENDENT]
    version = root.name.partition("-")[2]
    include = (f"-I{sysconfig.get_paths()['include']}", f"-I{root}/src/libImaging")
    usual = (*flags, *include, "-DHAVE_LIBZ", f'-DPILLOW_VERSION="{version}"', *_parsed_once(root, *flags, *include))
    objects = compile_all(sources, root / "independent", *usual)
    return PillowSource(directory=root, flags=usual, objects=tuple(objects))


def plain_name(name: str) -> str:
    """Return the soname in a name that auditwheel gave: "libjpeg.so.62" for "libjpeg-6dc8d115.so.62.4.0"."""
    stem, _, version = name.partition(".so.")
    plain = stem.rpartition("-")[0]
    return f"{plain}.so.{_OTHER_SONAMES.get(plain) or version.partition('.')[0]}"


def relink(file: Path, names: Mapping[str, str], search: str, *words: str) -> None:
    """Change the names of libraries that a file needs, and its search path; `words` are further options of patchelf."""
    renaming = [word for old, plain in names.items() for word in ("--replace-needed", old, plain)]
    patchelf(*words, *renaming, "--force-rpath", "--set-rpath", search, file)


def _parsed_once(root: Path, *flags: str) -> tuple[str, str]:
    """Precompile Python.h, which takes half of the compiler's time, and return the options that use it."""
    header = root / "parsed_once.h"
    header.write_text("#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n")
    gcc("-w", "-fPIC", *flags, "-x", "c-header", header, "-o", header.with_name(f"{header.name}.gch"))
    return "-include", str(header)


def _sources(root: Path) -> list[Path]:
    """Return the C files that are translation units, without those that others include."""
    found = [*sorted((root / "src").glob("*.c")), *sorted((root / "src/libImaging").glob("*.c"))]
    included = {
        name for path in found for name in re.findall(r'#include "(\w+\.c)"', path.read_text("utf-8", "replace"))
    }
    return [path for path in found if path.stem not in _LEFT_OUT and path.name not in included]


def _headers(abi: str, directory: Path) -> Path:
    """Copy the system's headers of libjpeg-turbo, with another ABI version."""
    directory.mkdir(exist_ok=True)
    program = "#include <stdio.h>\n#include <jpeglib.h>\n"
    argv = ("gcc", "-M", "-x", "c", "-")
    rule = subprocess.run(argv, input=program, capture_output=True, text=True, check=True).stdout
    names = ("jpeglib.h", "jconfig.h", "jmorecfg.h", "jerror.h")
    for path in map(Path, shlex.split(rule.replace("\\\n", ""))):
        if path.name in names:
            text = path.read_text("utf-8", "replace")
            (directory / path.name).write_text(re.sub(r"(define JPEG_LIB_VERSION +)\d+", rf"\g<1>{abi}", text))
    return directory
