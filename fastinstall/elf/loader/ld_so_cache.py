"""Read the dynamic loader's cache, /etc/ld.so.cache; a damaged cache counts as empty.

Besides glibc-hwcaps, the cache may have entries for the "older subdirectories" ("tls", "haswell") that loaders before
glibc 2.37 search. Sources: glibc's sysdeps/generic/dl-cache.h; for the older subdirectories, elf/dl-cache.c of 2.36.
"""

import os
import struct
from collections.abc import Collection
from dataclasses import field
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.architecture import architecture_of
from fastinstall.core.values import immutable

_OLD_MAGIC = b"ld.so-1.7.0"
_MAGIC = b"glibc-ld.so.cache1.1"
_EXTENSION_MAGIC = 0xEAA42174
_HWCAP_NAMES = 1
_HWCAP_EXTENSION = 1 << 62
_ENTRY = struct.Struct("<iIIIQ")


_ALWAYS = 1 << 63  # the bit of the capability "tls", which every CPU has


_Entry = tuple[int, str, int, int]
"""Four values of a file: bits for the ABI and the C library that it is for; the subdirectory of glibc-hwcaps that
contains it, or ""; bits for the older subdirectories that contain it ("haswell", "tls"); the offset of its path in
`LoaderCache.content`."""


@immutable
class LoaderCache:
    """The content of the loader's cache: the libraries that `ldconfig` has found.

    Attributes:
        content: the bytes of the cache file, from the start of the part in the current format.
        entries: the entries of each soname, in the order of the cache.
    """

    content: bytes = b""
    entries: dict[bytes, list[_Entry]] = field(default_factory=dict)

    def find(
        self, soname: str, machine: str, hwcaps: tuple[str, ...], older: Collection[str] | None = None
    ) -> str | None:
        """Return the path of the best file with a soname, or None if the cache has no such file for this CPU.

        Args:
            soname: the name to look up.
            machine: the architecture of the process.
            hwcaps: subdirectories of glibc-hwcaps that the CPU can use, best first.
            older: the CPU's platform and capabilities, which are the names of older subdirectories; None for loaders
                since glibc 2.37, which ignore files in such subdirectories.
        """
        architecture = architecture_of(machine)
        held = _ALWAYS | sum(1 << bit for bit, name in architecture.capability_bits if name in (older or ()))
        fitting: dict[str, int] = {}
        for flags, level, capabilities, path in self.entries.get(os.fsencode(soname), ()):
            usable = not capabilities or (older is not None and not capabilities & ~held)
            if flags == architecture.cache_flags and usable:
                fitting.setdefault(level, path)
        offset = next((fitting[name] for name in (*hwcaps, "") if name in fitting), None)
        end = self.content.find(b"\0", offset) if offset is not None else -1
        return os.fsdecode(self.content[offset:end]) if end >= 0 else None


def read_loader_cache(path: Path) -> LoaderCache:
    """Read the cache. Like the loader, treat a missing or damaged file as an empty cache."""
    try:
        content = foreign.read_bytes(path)
        if content.startswith(_OLD_MAGIC):  # a part in the old format (before glibc 2.2) comes first
            (count,) = struct.unpack_from("<I", content, 12)
            content = content[(16 + 12 * int(count) + 7) & ~7 :]
        return LoaderCache(content=content, entries=_parse(content))
    except (OSError, ValueError, IndexError, struct.error):
        return LoaderCache()


def _parse(content: bytes) -> dict[bytes, list[_Entry]]:
    if not content.startswith(_MAGIC):
        return {}
    count, extension = struct.unpack_from("<I8xI", content, 20)
    names = _read_hwcap_names(content, extension) if extension else []
    entries: dict[bytes, list[_Entry]] = {}
    for flags, soname, path, _, hwcap in _ENTRY.iter_unpack(content[48 : 48 + count * _ENTRY.size]):
        named = hwcap & _HWCAP_EXTENSION and not hwcap & _ALWAYS
        entry = (flags, names[hwcap & 0xFFFFFFFF] if named else "", 0 if named else hwcap, path)
        entries.setdefault(content[soname : content.index(b"\0", soname)], []).append(entry)
    return entries


def _read_hwcap_names(content: bytes, extension: int) -> list[str]:
    magic, count = struct.unpack_from("<II", content, extension)
    for number in range(count if magic == _EXTENSION_MAGIC else 0):
        tag, _, offset, size = struct.unpack_from("<IIII", content, extension + 8 + 16 * number)
        if tag == _HWCAP_NAMES:
            places = struct.unpack_from(f"<{size // 4}I", content, offset)
            return [os.fsdecode(content[place : content.index(b"\0", place)]) for place in places]
    return []
