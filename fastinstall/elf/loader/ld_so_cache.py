"""The dynamic loader's cache, /etc/ld.so.cache, and the loader's own build settings, both read from files.

The cache is read as `ldconfig` wrote it; a damaged one is an empty one. Source: glibc, sysdeps/generic/dl-cache.h. The
settings are strings in the loader's file, which is never run.
"""

import os
import re
import struct
from dataclasses import field
from pathlib import Path, PurePosixPath

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.elf.image import ElfError, open_image
from fastinstall.elf.loader.opened_files import Root

_OLD_MAGIC = b"ld.so-1.7.0"
_MAGIC = b"glibc-ld.so.cache1.1"
_EXTENSION_MAGIC = 0xEAA42174
_HWCAP_NAMES = 1
_HWCAP_EXTENSION = 1 << 62
_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03}
_ENTRY = struct.Struct("<iIIIQ")


Entry = tuple[int, str, int]


@immutable
class LoaderCache:
    """Where `ldconfig` found libraries.

    Attributes:
        content: of the file, from the beginning of the current format.
        entries: flags, glibc-hwcaps subdirectory ("" for none) and the path's offset, by soname.
    """

    content: bytes = b""
    entries: dict[bytes, list[Entry]] = field(default_factory=dict)

    def find(self, soname: str, machine: str, hwcaps: tuple[str, ...]) -> str | None:
        """The path for a soname, the best of the `hwcaps` first."""
        order = {name: rank for rank, name in enumerate((*hwcaps, ""))}
        fitting = [
            (order[subdirectory], path)
            for flags, subdirectory, path in self.entries.get(os.fsencode(soname), ())
            if flags == _FLAGS.get(machine) and subdirectory in order
        ]
        if not fitting:
            return None
        path = _read_terminated_bytes(self.content, min(fitting, key=lambda entry: entry[0])[1])
        return os.fsdecode(path) if path is not None else None


def read_loader_cache(path: Path) -> LoaderCache:
    """Read the cache; one that is missing or damaged has no entries, as for the loader itself."""
    try:
        content = foreign.read_bytes(path)
        content = content[_start(content) :]
        return LoaderCache(content=content, entries=_parse(content))
    except (OSError, ValueError, IndexError, struct.error):
        return LoaderCache()


def _parse(content: bytes) -> dict[bytes, list[Entry]]:
    if not content.startswith(_MAGIC):
        return {}
    count, extension = struct.unpack_from("<I8xI", content, 20)
    names = _read_hwcap_names(content, extension) if extension else ()
    entries: dict[bytes, list[Entry]] = {}
    for flags, soname, path, _, hwcap in _ENTRY.iter_unpack(content[48 : 48 + count * _ENTRY.size]):
        if hwcap and not hwcap & _HWCAP_EXTENSION:
            continue  # a legacy hardware capability: current loaders pass these over
        subdirectory = names[hwcap & 0xFFFFFFFF] if hwcap else ""
        key = content[soname : content.index(b"\0", soname)]
        entries.setdefault(key, []).append((flags, subdirectory, path))
    return entries


def _start(content: bytes) -> int:
    """Where the current format begins: behind the one of glibc before 2.2, if that is there."""
    if not content.startswith(_OLD_MAGIC):
        return 0
    (count,) = struct.unpack_from("<I", content, 12)
    return (16 + 12 * int(count) + 7) & ~7


def _read_hwcap_names(content: bytes, extension: int) -> tuple[str, ...]:
    magic, count = struct.unpack_from("<II", content, extension)
    if magic != _EXTENSION_MAGIC:
        return ()
    for number in range(count):
        tag, _, offset, size = struct.unpack_from("<IIII", content, extension + 8 + 16 * number)
        if tag == _HWCAP_NAMES:
            return tuple(_read_string(content, name) for name in struct.unpack_from(f"<{size // 4}I", content, offset))
    return ()


def _read_string(content: bytes, offset: int) -> str:
    return os.fsdecode(content[offset : content.index(b"\0", offset)])


def _read_terminated_bytes(content: bytes, offset: int) -> bytes | None:
    """Return the string at an offset, or None if it is not terminated."""
    end = content.find(b"\0", offset)
    return content[offset:end] if end >= 0 else None


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
    content = _read_constants(root, interpreter) if interpreter else b""
    found = _DIRECTORIES.search(content)
    if found is None:
        return _assume_loader_build(machine)
    directories = tuple(name.decode() for name in found[1].split(b"\0") if name)
    version = _VERSION.search(content)
    return LoaderBuild(
        directories=directories,
        library=_find_library_directory(directories[0]),
        version=(int(version[1]), int(version[2])) if version else _BEFORE_LEVELS,
        cache=_find_text(_CACHE, content) or "/etc/ld.so.cache",
        preload=_find_text(_PRELOAD, content) or "/etc/ld.so.preload",
    )


def _read_constants(root: Root, interpreter: str) -> bytes:
    try:
        with open_image(Path(root.place(interpreter))) as image:
            return image.constants()
    except (OSError, ElfError):
        return b""


def _assume_loader_build(machine: str) -> LoaderBuild:
    own = f"lib/{machine}-linux-gnu"
    return LoaderBuild(directories=(f"/{own}/", f"/usr/{own}/", *_GENERAL_DIRECTORIES), library=own)


def _find_library_directory(first: str) -> str:
    """$LIB is the last component of the first directory, on Debian with the "lib" before it."""
    path = PurePosixPath(first)
    return f"lib/{path.name}" if path.parent.name == "lib" else path.name


def _find_text(pattern: re.Pattern[bytes], content: bytes) -> str:
    found = pattern.search(content)
    return found[1].decode("utf-8", "surrogateescape") if found else ""
