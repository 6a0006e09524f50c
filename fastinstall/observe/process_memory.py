"""The memory of a running process: what is mapped there, and how PIL's functions are bound, without stopping it.

The loader has written the addresses of functions into the tables of each file. The file's code calls these addresses,
whatever was loaded first and by whom. An extension module's are all bound at import (RTLD_NOW). Files are not read,
because they may have been replaced since. Sources: elf(5), proc_pid_maps(5), proc_pid_mem(5), the ELF gABI on dynamic
sections and relocations.
"""

import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath

from fastinstall.elf.description import Binding
from fastinstall.elf.dynamic_symbols import SYMBOL
from fastinstall.model.facts import packages_of

_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..([x-]). ([0-9a-f]+) \S+ (\d+) *(.*)")


_DELETED = " (deleted)"


_NO_FILES = ("/memfd:", "/dev/", "/SYSV", "/[aio]", "/anon_hugepage")


@dataclass(frozen=True, slots=True)
class Mapping:
    """A range of a process's memory.

    Attributes:
        start: the address of its first byte.
        end: the address after it.
        is_executable: whether code may run there.
        offset: of its start in the file, in bytes.
        inode: of the file, from the kernel; 0 without a file.
        path: the file, in the mount namespace of the process; in brackets if not a file ("[stack]"), or empty.
        is_deleted: whether the file has been unlinked; `path` is its former name.
    """

    start: int
    end: int
    is_executable: bool
    offset: int
    inode: int
    path: str
    is_deleted: bool

    @property
    def is_file(self) -> bool:
        """Whether it comes from a file, and not from memory that only looks like one."""
        return self.path.startswith("/") and not self.path.startswith(_NO_FILES)


def read_mappings(lines: Iterable[str]) -> Iterator[Mapping]:
    """Parse the lines of a `maps` file; other lines are skipped."""
    for found in map(_LINE.fullmatch, lines):
        if found is not None:
            start, end, offset = (int(found[group], 16) for group in (1, 2, 4))
            path = found[6].replace("\\012", "\n")  # the kernel's escape of a line break
            yield Mapping(
                start=start,
                end=end,
                is_executable=found[3] == "x",
                offset=offset,
                inode=int(found[5]),
                path=path.removesuffix(_DELETED),
                is_deleted=path.endswith(_DELETED),
            )


_LOAD, _DYNAMIC = 1, 2


_NEEDED, _PLT_SIZE, _STRINGS, _SYMBOLS, _RELA, _RELA_SIZE, _STRINGS_SIZE, _PLT = 1, 2, 5, 6, 7, 8, 10, 23


_SEGMENT, _TAG, _RELOCATION = (struct.Struct(form) for form in ("<IIQQQQQQ", "<QQ", "<QQq"))


_LARGEST, _MOST = 1 << 25, 1000
"""Largest size of a table in bytes, and number of functions: the data of a process is not trusted."""


_PAGE, _END = mmap.PAGESIZE, 1 << 63


class _MappedFile:
    """An ELF file in memory, by the tags of its dynamic section.

    Raises:
        OSError: the memory cannot be read, or is gone.
        ValueError: it is not a 64-bit ELF file.
    """

    def __init__(self, descriptor: int, mapping: Mapping) -> None:
        self.path = PurePath(mapping.path)
        self._descriptor = descriptor
        header = self.read(mapping.start, 64)
        if header[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{self.path} is not a 64-bit ELF file")
        table, one, count = struct.unpack_from("<Q14xHH", header, 32)
        if one != _SEGMENT.size:
            raise ValueError(f"{self.path} has program headers of {one} bytes")
        segments = list(_SEGMENT.iter_unpack(self.read(mapping.start + table, one * count)))
        first = next((segment[3] for segment in segments if segment[0] == _LOAD), 0)
        self.base = mapping.start - first // _PAGE * _PAGE
        self.tags: list[tuple[int, int]] = []
        for segment in [segment for segment in segments if segment[0] == _DYNAMIC][:1]:
            content = self.read(self.base + segment[3], segment[6] // _TAG.size * _TAG.size)
            self.tags = list(_TAG.iter_unpack(content))

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of the process's memory."""
        if size > _LARGEST or address + size >= _END:
            raise ValueError(f"a table of {size} bytes at {address:#x}")
        content = os.pread(self._descriptor, size, address)
        if len(content) != size:
            raise ValueError(f"nothing is mapped at {address:#x}")
        return content

    def tag(self, kind: int) -> int:
        """Return the value of the first tag of a kind; 0 if there is none."""
        return next((value for found, value in self.tags if found == kind), 0)

    def read_table(self, kind: int, size: int) -> bytes:
        """Return a table; glibc's loader has replaced the file's offsets by addresses."""
        address = self.tag(kind)
        return self.read(address if address >= self.base else self.base + address, size)


def read_bindings(memory: Path, mappings: Sequence[Mapping], start: str) -> tuple[Binding, ...]:
    """Return how PIL's files and its libtiff bind functions whose names start alike ("jpeg_").

    Args:
        memory: `/proc/PID/mem` of the process, only read.
        mappings: the map of the process's memory.
        start: the beginning that the names share.

    Raises:
        OSError: the memory cannot be read, or is gone.
        ValueError: it is not a 64-bit ELF file.
    """
    found: dict[str, Mapping] = {}
    for each in mappings:
        ours = packages_of(PurePath(each.path)) is not None or PurePath(each.path).name.startswith("libtiff")
        if ours and each.is_file and not each.offset:
            found.setdefault(each.path, each)
    descriptor = os.open(memory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        files = [_MappedFile(descriptor, mapping) for mapping in found.values()]
        return tuple(binding for file in files for binding in _read_bindings(file, mappings, start))
    finally:
        os.close(descriptor)


def _read_bindings(file: _MappedFile, mappings: Sequence[Mapping], start: str) -> Iterator[Binding]:
    strings = file.read_table(_STRINGS, file.tag(_STRINGS_SIZE)) if file.tag(_STRINGS) else b""
    needed = tuple(_decode_string(strings, value) for kind, value in file.tags if kind == _NEEDED)
    for name, slot in islice(_list_slots(file, strings, start), _MOST):
        address = int.from_bytes(file.read(slot, 8), "little")
        holder = next((each.path for each in mappings if each.start <= address < each.end and each.is_file), "")
        if holder and PurePath(holder) != file.path:  # otherwise it stays unbound until its first call
            provider = PurePath(holder)
            wanted = _choose_libjpeg(needed, mappings, provider)
            yield Binding(symbol=name, version="", user=file.path, provider=provider, wanted=wanted)


def _list_slots(file: _MappedFile, strings: bytes, start: str) -> Iterator[tuple[str, int]]:
    """Yield the functions that the file does not define itself, and the addresses of their slots."""
    named: dict[int, int] = {}
    for table, size in ((_RELA, file.tag(_RELA_SIZE)), (_PLT, file.tag(_PLT_SIZE))):
        content = file.read_table(table, size // _RELOCATION.size * _RELOCATION.size) if size else b""
        named |= {info >> 32: offset for offset, info, _ in _RELOCATION.iter_unpack(content) if info >> 32}
    symbols = file.read_table(_SYMBOLS, (max(named) + 1) * SYMBOL.size) if named else b""
    for index, offset in named.items():
        name, _, _, section, _, _ = SYMBOL.unpack_from(symbols, index * SYMBOL.size)
        text = _decode_string(strings, name)
        if not section and text.startswith(start):
            yield text, file.base + offset


def _choose_libjpeg(needed: Sequence[str], mappings: Sequence[Mapping], provider: PurePath) -> PurePath | None:
    """Return the mapped libjpeg that the file requests; maps name the targets of links."""
    names = [PurePath(name).name for name in needed if "jpeg" in name]
    paths = dict.fromkeys(PurePath(each.path) for each in mappings if each.is_file)
    found = [path for path in paths for name in names if path.name == name or path.name.startswith(f"{name}.")]
    return provider if provider in found else next(iter(found), None)


def _decode_string(strings: bytes, offset: int) -> str:
    return strings[offset : strings.find(b"\0", offset)].decode("utf-8", "replace")
