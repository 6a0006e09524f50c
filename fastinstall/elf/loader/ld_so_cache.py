"""The dynamic loader's cache, /etc/ld.so.cache, and the loader's own build settings, both read from files.

The cache is read as `ldconfig` wrote it; a damaged one is an empty one. Source: glibc, sysdeps/generic/dl-cache.h. The
settings are strings in the loader's file, which is never run.
"""

import os
import re
import struct
from contextlib import suppress
from dataclasses import field
from pathlib import Path, PurePosixPath

from fastinstall.core import foreign
from fastinstall.core.architecture import architecture_of
from fastinstall.core.values import immutable
from fastinstall.elf.image import ElfError, open_image

_OLD_MAGIC = b"ld.so-1.7.0"
_MAGIC = b"glibc-ld.so.cache1.1"
_EXTENSION_MAGIC = 0xEAA42174
_HWCAP_NAMES = 1
_HWCAP_EXTENSION = 1 << 62
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
        fitting: dict[str, int] = {}
        wanted = architecture_of(machine).cache_flags
        for flags, subdirectory, path in self.entries.get(os.fsencode(soname), ()):
            if flags == wanted:
                fitting.setdefault(subdirectory, path)
        offset = next((fitting[name] for name in (*hwcaps, "") if name in fitting), None)
        end = self.content.find(b"\0", offset) if offset is not None else -1
        return os.fsdecode(self.content[offset:end]) if end >= 0 else None


def read_loader_cache(path: Path) -> LoaderCache:
    """Read the cache; one that is missing or damaged has no entries, as for the loader itself."""
    try:
        content = foreign.read_bytes(path)
        if content.startswith(_OLD_MAGIC):  # the format of glibc before 2.2, with the current one behind it
            (count,) = struct.unpack_from("<I", content, 12)
            content = content[(16 + 12 * int(count) + 7) & ~7 :]
        return LoaderCache(content=content, entries=_parse(content))
    except (OSError, ValueError, IndexError, struct.error):
        return LoaderCache()


def _parse(content: bytes) -> dict[bytes, list[Entry]]:
    if not content.startswith(_MAGIC):
        return {}
    count, extension = struct.unpack_from("<I8xI", content, 20)
    names = _read_hwcap_names(content, extension) if extension else []
    entries: dict[bytes, list[Entry]] = {}
    for flags, soname, path, _, hwcap in _ENTRY.iter_unpack(content[48 : 48 + count * _ENTRY.size]):
        if hwcap and not hwcap & _HWCAP_EXTENSION:
            continue  # a legacy hardware capability: current loaders pass these over
        key = content[soname : content.index(b"\0", soname)]
        entries.setdefault(key, []).append((flags, names[hwcap & 0xFFFFFFFF] if hwcap else "", path))
    return entries


def _read_hwcap_names(content: bytes, extension: int) -> list[str]:
    magic, count = struct.unpack_from("<II", content, extension)
    for number in range(count if magic == _EXTENSION_MAGIC else 0):
        tag, _, offset, size = struct.unpack_from("<IIII", content, extension + 8 + 16 * number)
        if tag == _HWCAP_NAMES:
            places = struct.unpack_from(f"<{size // 4}I", content, offset)
            return [os.fsdecode(content[place : content.index(b"\0", place)]) for place in places]
    return []


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
        loader: the file.
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
