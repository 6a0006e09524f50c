"""The build settings of one loader of glibc, read from strings in its file, which is never run."""

import os
import re
from contextlib import suppress
from pathlib import Path, PurePosixPath

from fastinstall.core.architecture import architecture_of
from fastinstall.core.values import immutable
from fastinstall.elf.image import ElfError, open_image

_DIRECTORIES = re.compile(rb"\0((?:/(?:[\w.+-]+/)*lib[\w.+-]*/(?:[\w.+-]+/)*\0)+)")

_VERSION = re.compile(rb"release version (\d+)\.(\d+)")

_CACHE = re.compile(rb"\0(/[^\0]*/ld\.so\.cache)\0")

_PRELOAD = re.compile(rb"\0(/[^\0]*/ld\.so\.preload)\0")

_CACHE_FILE, _PRELOAD_FILE = "/etc/ld.so.cache", "/etc/ld.so.preload"

_GENERAL_DIRECTORIES = ("/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/")

_BEFORE_LEVELS, _CURRENT = (2, 32), (2, 37)

_LEVELS_SINCE, _PLATFORMS_UNTIL = (2, 33), (2, 37)


@immutable
class LoaderBuild:
    """The settings of one loader of glibc.

    Attributes:
        directories: where it looks last, each with a slash at its end.
        library: what $LIB stands for: "lib/x86_64-linux-gnu", "lib64".
        version: of glibc; one before 2.33 does not say, and counts as 2.32.
        cache: the file that `ldconfig` writes.
        preload: the file of libraries for every process.
    """

    directories: tuple[str, ...]
    library: str
    version: tuple[int, int] = _CURRENT
    cache: str = _CACHE_FILE
    preload: str = _PRELOAD_FILE

    @property
    def knows_levels(self) -> bool:
        """Whether it searches glibc-hwcaps and refuses files above the CPU's level (glibc 2.33)."""
        return self.version >= _LEVELS_SINCE

    @property
    def knows_platforms(self) -> bool:
        """Whether it searches the older subdirectories "tls", "haswell", "x86_64" too (before glibc 2.37)."""
        return self.version < _PLATFORMS_UNTIL


def read_build(loader: Path, machine: str) -> LoaderBuild:
    """Read a loader of glibc; one that cannot be read counts as a current one of Debian's.

    Args:
        loader: the loader's file, as a program names it in PT_INTERP.
        machine: which it is for.
    """
    content = b""
    with suppress(OSError, ElfError), open_image(loader) as image:
        content = image.constants()
    found = _DIRECTORIES.search(content)
    if found is None:
        own = f"lib/{architecture_of(machine).target}"
        return LoaderBuild(directories=(f"/{own}/", f"/usr/{own}/", *_GENERAL_DIRECTORIES), library=own)
    directories = tuple(name.decode() for name in found[1].split(b"\0") if name)
    version, cache, preload = (pattern.search(content) for pattern in (_VERSION, _CACHE, _PRELOAD))
    # $LIB is the last component of the first directory, on Debian with the "lib" before it
    first = PurePosixPath(directories[0])
    return LoaderBuild(
        directories=directories,
        library=f"lib/{first.name}" if first.parent.name == "lib" else first.name,
        version=(int(version[1]), int(version[2])) if version else _BEFORE_LEVELS,
        cache=os.fsdecode(cache[1]) if cache else _CACHE_FILE,
        preload=os.fsdecode(preload[1]) if preload else _PRELOAD_FILE,
    )
