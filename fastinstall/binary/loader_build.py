"""What a dynamic loader was compiled to do, read from the strings in its file. It is never run."""

import re
from pathlib import Path, PurePosixPath

from fastinstall.binary.image import ElfError, open_image
from fastinstall.binary.loader_root import Root
from fastinstall.model.immutable import immutable

_DIRECTORIES = re.compile(rb"\0((?:/(?:[\w.+-]+/)*lib[\w.+-]*/(?:[\w.+-]+/)*\0)+)")
_VERSION = re.compile(rb"release version (\d+)\.(\d+)")
_CACHE = re.compile(rb"\0(/[^\0]*/ld\.so\.cache)\0")
_PRELOAD = re.compile(rb"\0(/[^\0]*/ld\.so\.preload)\0")
_GENERAL_DIRECTORIES = ("/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/")
_BEFORE_LEVELS, _CURRENT = (2, 32), (2, 37)
_LEVELS_SINCE, _PLATFORMS_UNTIL = (2, 33), (2, 37)
_STANDARD = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}


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
    cache: str = "/etc/ld.so.cache"
    preload: str = "/etc/ld.so.preload"

    @property
    def knows_levels(self) -> bool:
        """Whether it searches glibc-hwcaps and refuses files above the CPU's level (glibc 2.33)."""
        return self.version >= _LEVELS_SINCE

    @property
    def knows_platforms(self) -> bool:
        """Whether it searches the older subdirectories "tls", "haswell", "x86_64" too (before glibc 2.37)."""
        return self.version < _PLATFORMS_UNTIL


def standard_loader(machine: str) -> str:
    """Where the loader of a machine stands by its ABI, for programs that do not say; empty if unknown."""
    return _STANDARD.get(machine, "")


def read_build(root: Root, interpreter: str, machine: str) -> LoaderBuild:
    """Read a loader of glibc; one that cannot be read counts as a current one of Debian's.

    Args:
        root: the filesystem that it is in.
        interpreter: its path there; empty if there is none.
        machine: which it is for.
    """
    content = _constants(root, interpreter) if interpreter else b""
    found = _DIRECTORIES.search(content)
    if found is None:
        return _assumed(machine)
    directories = tuple(name.decode() for name in found[1].split(b"\0") if name)
    version = _VERSION.search(content)
    return LoaderBuild(
        directories=directories,
        library=_library(directories[0]),
        version=(int(version[1]), int(version[2])) if version else _BEFORE_LEVELS,
        cache=_text(_CACHE, content) or "/etc/ld.so.cache",
        preload=_text(_PRELOAD, content) or "/etc/ld.so.preload",
    )


def _constants(root: Root, interpreter: str) -> bytes:
    try:
        with open_image(Path(root.place(interpreter))) as image:
            return image.constants()
    except (OSError, ElfError):
        return b""


def _assumed(machine: str) -> LoaderBuild:
    own = f"lib/{machine}-linux-gnu"
    return LoaderBuild(directories=(f"/{own}/", f"/usr/{own}/", *_GENERAL_DIRECTORIES), library=own)


def _library(first: str) -> str:
    """$LIB is the last component of the first directory, on Debian with the "lib" before it."""
    path = PurePosixPath(first)
    return f"lib/{path.name}" if path.parent.name == "lib" else path.name


def _text(pattern: re.Pattern[bytes], content: bytes) -> str:
    found = pattern.search(content)
    return found[1].decode("utf-8", "surrogateescape") if found else ""
