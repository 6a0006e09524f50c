"""How a process that runs already has bound PIL's references, read from its memory; it is neither stopped nor changed.

The loader has written the addresses of functions into the tables of each file, and these are what its code calls,
whatever was loaded first, and by whom. An extension module's are all bound when it is imported (RTLD_NOW). Nothing is
read from files, which may be others by now.
Sources: elf(5), proc_pid_mem(5), the ELF gABI on dynamic sections and relocations.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath

from fastinstall.model.linkage import Binding
from fastinstall.probes.mappings import Mapping
from fastinstall.rules.running import packages_of

_LOAD, _DYNAMIC = 1, 2
_NEEDED, _PLT_SIZE, _STRINGS, _SYMBOLS, _RELA, _RELA_SIZE, _STRINGS_SIZE, _PLT = 1, 2, 5, 6, 7, 8, 10, 23
_SEGMENT, _TAG, _RELOCATION, _SYMBOL = (struct.Struct(form) for form in ("<IIQQQQQQ", "<QQ", "<QQq", "<IBBHQQ"))
_LARGEST, _MOST = 1 << 25, 1000
"""Of the bytes of a table, and of functions; a process may say anything of itself."""
_PAGE, _END = 4096, 1 << 63


@dataclass(frozen=True, slots=True)
class _File:
    """A file in memory: where it is, and the tags of its dynamic section."""

    path: PurePath
    base: int
    tags: tuple[tuple[int, int], ...]

    def tag(self, kind: int) -> int:
        return next((value for found, value in self.tags if found == kind), 0)

    def address(self, kind: int) -> int:
        """Of a table; the loader of glibc has made addresses of what are offsets in the file."""
        value = self.tag(kind)
        return value if value >= self.base else self.base + value


def read_bindings(memory: Path, mappings: Sequence[Mapping], start: str) -> tuple[Binding, ...]:
    """How PIL's files, and its libtiff, are bound to functions whose names begin alike ("jpeg_").

    Args:
        memory: `/proc/PID/mem`.
        mappings: of the process.
        start: of the names.

    Raises:
        OSError: the memory is not for us to read, or not there any more.
        ValueError: what stands there is no ELF file of 64 bits.
    """
    found = {each.path: each for each in reversed(mappings) if each.is_file and not each.offset and _is_ours(each.path)}
    descriptor = os.open(memory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        files = [_file(descriptor, mapping) for mapping in reversed(found.values())]
        return tuple(binding for file in files for binding in _bindings(descriptor, file, mappings, start))
    finally:
        os.close(descriptor)


def _is_ours(path: str) -> bool:
    return packages_of(PurePath(path)) is not None or PurePath(path).name.startswith("libtiff")


def _read(descriptor: int, address: int, size: int) -> bytes:
    if size > _LARGEST or address + size >= _END:
        raise ValueError(f"a table of {size} bytes at {address:#x}")
    content = os.pread(descriptor, size, address)
    if len(content) != size:
        raise ValueError(f"nothing is mapped at {address:#x}")
    return content


def _file(descriptor: int, mapping: Mapping) -> _File:
    header = _read(descriptor, mapping.start, 64)
    if header[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{mapping.path} is no ELF file of 64 bits")
    table, one, count = struct.unpack_from("<Q14xHH", header, 32)
    if one != _SEGMENT.size:
        raise ValueError(f"{mapping.path} has program headers of {one} bytes")
    segments = list(_SEGMENT.iter_unpack(_read(descriptor, mapping.start + table, one * count)))
    first = next((segment[3] for segment in segments if segment[0] == _LOAD), 0)
    base = mapping.start - first // _PAGE * _PAGE
    dynamic = next((segment for segment in segments if segment[0] == _DYNAMIC), None)
    size = dynamic[6] // _TAG.size * _TAG.size if dynamic is not None else 0
    content = _read(descriptor, base + dynamic[3], size) if dynamic is not None else b""
    return _File(PurePath(mapping.path), base, tuple(_TAG.iter_unpack(content)))


def _bindings(descriptor: int, file: _File, mappings: Sequence[Mapping], start: str) -> Iterator[Binding]:
    strings = _read(descriptor, file.address(_STRINGS), file.tag(_STRINGS_SIZE)) if file.tag(_STRINGS) else b""
    needed = tuple(_text(strings, value) for kind, value in file.tags if kind == _NEEDED)
    for name, slot in islice(_slots(descriptor, file, strings, start), _MOST):
        (address,) = struct.unpack("<Q", _read(descriptor, slot, 8))
        holder = next((each.path for each in mappings if each.start <= address < each.end and each.is_file), "")
        if holder and PurePath(holder) != file.path:  # else it is not bound before its first call
            provider = PurePath(holder)
            wanted = _wanted(needed, mappings, provider)
            yield Binding(symbol=name, version="", user=file.path, provider=provider, wanted=wanted)


def _slots(descriptor: int, file: _File, strings: bytes, start: str) -> Iterator[tuple[str, int]]:
    """The functions that the file itself does not define, and where their addresses stand."""
    tables = ((file.address(_RELA), file.tag(_RELA_SIZE)), (file.address(_PLT), file.tag(_PLT_SIZE)))
    whole = ((address, size // _RELOCATION.size * _RELOCATION.size) for address, size in tables if size)
    entries = [entry for table in whole for entry in _RELOCATION.iter_unpack(_read(descriptor, *table))]
    named = {info >> 32: offset for offset, info, _ in entries if info >> 32}
    if not named:
        return
    symbols = _read(descriptor, file.address(_SYMBOLS), (max(named) + 1) * _SYMBOL.size)
    for index, offset in named.items():
        name, _, _, section, _, _ = _SYMBOL.unpack_from(symbols, index * _SYMBOL.size)
        text = _text(strings, name)
        if not section and text.startswith(start):
            yield text, file.base + offset


def _wanted(needed: Sequence[str], mappings: Sequence[Mapping], provider: PurePath) -> PurePath | None:
    """The mapped libjpeg that the file asks for: maps name what a link leads to."""
    names = [PurePath(name).name for name in needed if "jpeg" in name]
    paths = dict.fromkeys(PurePath(each.path) for each in mappings if each.is_file)
    found = [path for path in paths for name in names if path.name == name or path.name.startswith(f"{name}.")]
    return provider if provider in found else next(iter(found), None)


def _text(strings: bytes, offset: int) -> str:
    return strings[offset : strings.find(b"\0", offset)].decode("utf-8", "replace")
