"""Pillow and its image libraries as `defaults` once had them, for the local channel: all linked with IJG's libjpeg.

Pillow is compiled from source against IJG's library; for the libtiff see `_of_ijg`.
"""

import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from support.conda.packages import CondaPackage, Entry, text_entry, tree_entries
from support.conda.stack import SITE, SOME_PYTHON, Linked, installed, library, tiff_headers
from support.elf.jpeg_libraries import JpegLibraries, compile_all, gcc, jpeg_libraries, patchelf
from support.elf.linked_pillow import LIKE_CONDA, SUFFIX, pillow_source
from support.index.cached_files import fetched

OLD_PILLOW = "9.5.0"
_BUILD = f"py{sys.version_info.major}{sys.version_info.minor}h5eee18b_0"
_SOME_JPEG = "jpeg >=9e,<10a"
_HEADERS = ("jpeglib.h", "jconfig.h", "jmorecfg.h", "jerror.h")
_DEPENDENT = ("_imaging", "decode", "encode", "JpegDecode", "JpegEncode", "TiffDecode")
_VER_FLG_WEAK, _WEAK_FUNCTION = 2, 0x22  # elf.h: VER_FLG_WEAK; STB_WEAK << 4 | STT_FUNC


def old_packages(cache: Path, scratch: Path, of_today: Linked) -> tuple[CondaPackage, ...]:
    """Return packages of IJG's libjpeg (with files named like libjpeg-turbo's), of a libtiff, and of a Pillow.

    Args:
        cache: fastinstall's cache, for downloads.
        scratch: a directory for built files, needed until the packages are written.
        of_today: libraries from which the libtiff is taken.
    """
    jpegs = jpeg_libraries(cache, scratch / "jpegs")
    (of_turbo,) = of_today.named("libtiff").values()
    tiff = _of_ijg(of_turbo, scratch / of_turbo.name)
    headers = {f"include/{name}": Entry(source=jpegs.headers / name) for name in _HEADERS}
    return (
        library("jpeg", "9e", {**installed({jpegs.ijg9.name: jpegs.ijg9}), **headers}),
        library(
            "libtiff", "4.5.1", {**installed({tiff.name: tiff}), **tiff_headers()}, _SOME_JPEG, "imagelibs", "liblzma"
        ),
        CondaPackage(
            name="pillow",
            version=OLD_PILLOW,
            build=_BUILD,
            depends=(SOME_PYTHON, _SOME_JPEG, "libtiff >=4.5,<4.6.0a0", "libzlib"),
            files=_pillow(cache, scratch / "source", jpegs, tiff),
        ),
    )


def _of_ijg(tiff: Path, made: Path) -> Path:
    """Relink today's libtiff with IJG's libjpeg. JPEG in TIFF then no longer works, as the structures differ."""
    shutil.copy(tiff, made)
    undefined = subprocess.run(("nm", "-D", "--undefined-only", made), capture_output=True, text=True, check=True)
    symbols = re.findall(r"\b(jpeg_\w+)@", undefined.stdout)
    patchelf(*(word for symbol in symbols for word in ("--clear-symbol-version", symbol)), made)
    patchelf("--replace-needed", "libjpeg.so.62", "libjpeg.so.9", made)
    _weaken(made, "libjpeg.so.9")
    return made


def _weaken(library: Path, soname: str) -> None:
    """Weaken what a library needs of the library `soname`: symbol versions and 12-bit functions become optional."""
    content = bytearray(library.read_bytes())
    with library.open("rb") as stream:
        file: Any = ELFFile(stream)
        versions, symbols = map(file.get_section_by_name, (".gnu.version_r", ".dynsym"))
        needed = [aux for need, found in versions.iter_versions() if need.name == soname for aux in found]
        for aux in needed:  # in Elf64_Vernaux, the flags follow the hash
            place = content.index(struct.pack("<I", aux["vna_hash"]), versions["sh_offset"])
            struct.pack_into("<H", content, place + 4, _VER_FLG_WEAK)
        for number, symbol in enumerate(symbols.iter_symbols()):  # in Elf64_Sym, binding and type follow the name
            if symbol.name.startswith("jpeg12_"):
                content[symbols["sh_offset"] + number * symbols["sh_entsize"] + 4] = _WEAK_FUNCTION
    library.write_bytes(content)


def _pillow(cache: Path, directory: Path, jpegs: JpegLibraries, tiff: Path) -> dict[str, Entry]:
    """Build the core, and two modules that need no library; omit all other modules, as a minimal build does."""
    sdist = f"Pillow-{OLD_PILLOW}.tar.gz"
    source = pillow_source(fetched(cache, sdist)[sdist], directory, "-O0")
    made = source.directory / "src/PIL"
    files = [path for path in made.parent.rglob("*.c") if path.stem in _DEPENDENT]
    features = (f"-I{jpegs.headers}", "-DHAVE_LIBJPEG", "-DHAVE_LIBTIFF")
    objects = compile_all(files, source.directory / "dependent", *features, *source.flags)
    # Except.c is left out: _imaging.c defines the same functions.
    others = [path for path in source.objects if path.stem != "Except"]
    search = ("-Wl,--disable-new-dtags", f"-Wl,-rpath,{LIKE_CONDA}")
    gcc("-shared", "-o", made / f"_imaging{SUFFIX}", *objects, *others, jpegs.ijg9, tiff, "-lz", *search)
    for name in ("_imagingmath", "_imagingmorph"):
        own = ("-o", made / f"{name}{SUFFIX}")
        gcc("-shared", "-w", "-fPIC", *source.flags, made.parent / f"{name}.c", *own)
    entries = tree_entries(made, f"{SITE}PIL/")
    return {**entries, **_metadata(source.directory / "PKG-INFO", entries)}


def _metadata(information: Path, entries: Mapping[str, Entry]) -> dict[str, Entry]:
    directory = f"Pillow-{OLD_PILLOW}.dist-info"
    texts = {"METADATA": information.read_text(encoding="utf-8"), "INSTALLER": "conda\n", "top_level.txt": "PIL\n"}
    own = [f"{directory}/{name}" for name in (*texts, "RECORD")]
    record = "".join(f"{path},,\n" for path in (*(path.removeprefix(SITE) for path in entries), *own))
    return {f"{SITE}{directory}/{name}": text_entry(text) for name, text in {**texts, "RECORD": record}.items()}
