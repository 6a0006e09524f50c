"""The dynamic loader's cache, /etc/ld.so.cache, read as `ldconfig` wrote it; a damaged one is an empty one.

Source: glibc, sysdeps/generic/dl-cache.h.
"""

import os
import struct
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
        """Return the path for a soname, the best of the `hwcaps` first."""
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
