"""The dynamic loader's cache, /etc/ld.so.cache, as `ldconfig` wrote it. Read-only; a damaged one is an empty one.

Source: glibc, sysdeps/generic/dl-cache.h.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

_OLD_MAGIC = b"ld.so-1.7.0"
_MAGIC = b"glibc-ld.so.cache1.1"
_EXTENSION_MAGIC = 0xEAA42174
_HWCAP_NAMES = 1
_HWCAP_EXTENSION = 1 << 62
_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03}
_ENTRY = struct.Struct("<iIIIQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderCache:
    """Where `ldconfig` found libraries.

    Attributes:
        entries: flags, glibc-hwcaps subdirectory ("" for none) and path, by soname.
    """

    entries: dict[str, tuple[tuple[int, str, str], ...]]

    def find(self, soname: str, machine: str, hwcaps: tuple[str, ...]) -> str | None:
        """The path for a soname, the best of the `hwcaps` first."""
        order = {name: rank for rank, name in enumerate((*hwcaps, ""))}
        fitting = [
            (order[subdirectory], path)
            for flags, subdirectory, path in self.entries.get(soname, ())
            if flags == _FLAGS.get(machine) and subdirectory in order
        ]
        return min(fitting, key=lambda entry: entry[0])[1] if fitting else None


def read_loader_cache(path: Path) -> LoaderCache:
    """Read the cache; one that is missing or damaged has no entries, as for the loader itself."""
    try:
        return LoaderCache(entries=_parse(path.read_bytes()))
    except (OSError, ValueError, IndexError, struct.error):
        return LoaderCache(entries={})


def _parse(content: bytes) -> dict[str, tuple[tuple[int, str, str], ...]]:
    content = content[_start(content) :]
    if not content.startswith(_MAGIC):
        return {}
    count, extension = struct.unpack_from("<I8xI", content, 20)
    names = _hwcap_names(content, extension) if extension else ()
    entries: dict[str, tuple[tuple[int, str, str], ...]] = {}
    for flags, soname, value, _, hwcap in _ENTRY.iter_unpack(content[48 : 48 + count * _ENTRY.size]):
        if hwcap and not hwcap & _HWCAP_EXTENSION:
            continue  # a legacy hardware capability: current loaders pass these over
        subdirectory = names[hwcap & 0xFFFFFFFF] if hwcap else ""
        key = _string(content, soname)
        entries[key] = (*entries.get(key, ()), (flags, subdirectory, _string(content, value)))
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
    return content[offset : content.index(b"\0", offset)].decode("utf-8", "surrogateescape")
