"""The dynamic loader's cache, /etc/ld.so.cache, as `ldconfig` wrote it. Read-only; a damaged one is an empty one.

Source: glibc, sysdeps/generic/dl-cache.h.
"""

import os
import struct
from dataclasses import field
from pathlib import Path

from fastinstall.model.immutable import immutable
from fastinstall.system import foreign

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
        path = _bytes(self.content, min(fitting, key=lambda entry: entry[0])[1])
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
    names = _hwcap_names(content, extension) if extension else ()
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


def _hwcap_names(content: bytes, extension: int) -> tuple[str, ...]:
    magic, count = struct.unpack_from("<II", content, extension)
    if magic != _EXTENSION_MAGIC:
        return ()
    for number in range(count):
        tag, _, offset, size = struct.unpack_from("<IIII", content, extension + 8 + 16 * number)
        if tag == _HWCAP_NAMES:
            return tuple(_string(content, name) for name in struct.unpack_from(f"<{size // 4}I", content, offset))
    return ()


def _string(content: bytes, offset: int) -> str:
    return os.fsdecode(content[offset : content.index(b"\0", offset)])


def _bytes(content: bytes, offset: int) -> bytes | None:
    """Return the string at an offset, or None if it is not terminated."""
    end = content.find(b"\0", offset)
    return content[offset:end] if end >= 0 else None
