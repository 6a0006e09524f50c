"""Writes ELF files byte by byte: minimal files that the loader accepts, without a compiler."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.elf.symbols import Symbol, bucket, gnu_hash, parse_symbol, system_v_hash, version_tables

ISA_LEVELS = {"x86-64-v1": 1, "x86-64-v2": 3, "x86-64-v3": 7, "x86-64-v4": 15}
FRAME = bytes.fromhex("554889e548897de8c9c3")
PLAIN = bytes.fromhex("488d0437c3909090909090")

_HEADER = 64
_PROGRAM_HEADER = 56


@dataclass(frozen=True, kw_only=True)
class Elf:
    """The content of a file: dynamic section, notes, symbols with their code, constants, recorded switches.

    Symbols may have versions (see `symbols.parse_symbol`). With `page_size`, a second segment without content is mapped
    at that offset and address.
    """

    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: str | None = None
    runpath: str | None = None
    flags: int = 0
    flags_1: int = 0
    interpreter: str | None = None
    machine: int = 62
    kind: int = 3
    isa: str | None = None
    build_id: bytes = b""
    exported: dict[str, bytes] = field(default_factory=dict)
    imported: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    static: dict[str, bytes] = field(default_factory=dict)
    constants: bytes = b""
    switches: tuple[str, ...] = ()
    system_v_hash: bool = False
    buckets: int = 1
    page_size: int = 0

    def write(self, path: Path) -> Path:
        """Write the file, and create its parent directories."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content())
        return path

    def content(self) -> bytes:
        """Return the file's bytes."""
        return _Writer(self).write()


def each_damaged(path: Path, *, step: int = 1) -> Iterator[int]:
    """Change each byte of a file in turn, in place; yield its position while it is changed."""
    content = path.read_bytes()
    with path.open("r+b", buffering=0) as stream:
        for position in range(0, len(content), step):
            os.pwrite(stream.fileno(), bytes([content[position] ^ 0xFF]), position)
            yield position
            os.pwrite(stream.fileno(), content[position : position + 1], position)


class _Writer:
    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        self.strings = bytearray(b"\0")
        self.segments: list[bytes] = []
        self.parts = bytearray(_HEADER + _PROGRAM_HEADER * self._segment_count())

    def write(self) -> bytes:
        elf = self.elf
        if elf.interpreter is not None:
            self._segment(3, elf.interpreter.encode() + b"\0", 1)
        notes = _notes(elf)
        if notes:
            self._segment(4, notes, 8)
        self._add(elf.constants)
        entries = [(1, self._string(name)) for name in elf.needed]
        entries += [
            (tag, self._string(text))
            for tag, text in ((14, elf.soname), (15, elf.rpath), (29, elf.runpath))
            if text is not None
        ]
        entries += [(tag, value) for tag, value in ((30, elf.flags), (0x6FFFFFFB, elf.flags_1)) if value]
        entries += self._dynamic_symbols()
        entries += [(5, self._add(bytes(self.strings))), (10, len(self.strings)), (0, 0)]
        self._segment(2, b"".join(struct.pack("<QQ", tag, value) for tag, value in entries), 8)
        loaded = len(self.parts)
        sections = self._sections()
        load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, loaded, loaded, 4096)
        page = self.elf.page_size
        second = [struct.pack("<IIQQQQQQ", 1, 4, 0, page, page, 0, page, page)] if page else []
        headers = b"".join([load, *second, *self.segments])
        self.parts[_HEADER : _HEADER + len(headers)] = headers
        self.parts[:_HEADER] = self._header(*sections)
        return bytes(self.parts)

    def _segment_count(self) -> int:
        return 2 + (self.elf.interpreter is not None) + bool(_notes(self.elf)) + bool(self.elf.page_size)

    def _header(self, sections: int, count: int) -> bytes:
        identity = b"\x7fELF\x02\x01\x01" + bytes(9)
        names = count - 1 if count else 0
        return identity + struct.pack(
            "<HHIQQQIHHHHHH",
            *(self.elf.kind, self.elf.machine, 1, 0, _HEADER, sections, 0, _HEADER, _PROGRAM_HEADER),
            *(self._segment_count(), 64, count, names),
        )

    def _add(self, content: bytes) -> int:
        self.parts += bytes(-len(self.parts) % 8)
        offset = len(self.parts)
        self.parts += content
        return offset

    def _segment(self, kind: int, content: bytes, alignment: int) -> None:
        offset, size = self._add(content), len(content)
        self.segments.append(struct.pack("<IIQQQQQQ", kind, 4, offset, offset, offset, size, size, alignment))

    def _string(self, text: str) -> int:
        offset = len(self.strings)
        self.strings += text.encode() + b"\0"
        return offset

    def _dynamic_symbols(self) -> list[tuple[int, int]]:
        elf = self.elf
        if not elf.exported and not elf.imported:
            return []
        wanted = [parse_symbol(text) for text in elf.imported]
        exported = [(parse_symbol(text), code) for text, code in elf.exported.items()]
        if not elf.system_v_hash:
            exported.sort(key=lambda item: bucket(item[0].name, elf.buckets))
        symbols = [Symbol(name=""), *wanted, *(symbol for symbol, _ in exported)]
        content = bytes(24) + b"".join(self._reference(symbol.name) for symbol in wanted)
        content += b"".join(self._definition(symbol.name, code) for symbol, code in exported)
        names = [symbol.name for symbol in symbols]
        if elf.system_v_hash:
            table = (4, self._add(system_v_hash(names, elf.buckets)))
        else:
            table = (0x6FFFFEF5, self._add(gnu_hash(names[1 + len(wanted) :], 1 + len(wanted), elf.buckets)))
        return [table, (6, self._add(content)), *self._versions(symbols)]

    def _reference(self, name: str) -> bytes:
        return struct.pack("<IBBHQQ", self._string(name), 0x22 if name in self.elf.weak else 0x12, 0, 0, 0, 0)

    def _definition(self, name: str, code: bytes) -> bytes:
        return struct.pack("<IBBHQQ", self._string(name), 0x12, 0, 1, self._add(code), len(code))

    def _versions(self, symbols: list[Symbol]) -> list[tuple[int, int]]:
        if not any(symbol.version for symbol in symbols):
            return []
        tables = version_tables(symbols, self.elf.soname or "base", self._string)
        entries = [(0x6FFFFFF0, self._add(tables.indices))]
        if tables.defined:
            entries += [(0x6FFFFFFC, self._add(tables.defined)), (0x6FFFFFFD, tables.defined_count)]
        if tables.needed:
            entries += [(0x6FFFFFFE, self._add(tables.needed)), (0x6FFFFFFF, tables.needed_count)]
        return entries

    def _sections(self) -> tuple[int, int]:
        """Add the section headers of symbols, names and switches, and return their offset and count."""
        if not self.elf.static and not self.elf.switches:
            return 0, 0
        names, entries = bytearray(b"\0"), bytearray(24)
        for name, address in self._static_addresses().items():
            entries += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, address, 16)
            names += name.encode() + b"\0"
        switches = b"".join(line.encode() + b"\0" for line in self.elf.switches)
        labels = b"\0.symtab\0.strtab\0.GCC.command.line\0.shstrtab\0"
        headers = bytes(64)
        for label, kind, content, link in (
            (b".symtab", 2, bytes(entries), 2),
            (b".strtab", 3, bytes(names), 0),
            (b".GCC.command.line", 1, switches, 0),
            (b".shstrtab", 3, labels, 0),
        ):
            start = self._add(content)
            headers += struct.pack("<IIQQQQIIQQ", labels.find(label), kind, 0, 0, start, len(content), link, 0, 1, 0)
        return self._add(headers), len(headers) // 64

    def _static_addresses(self) -> dict[str, int]:
        """Return the addresses of static functions, which share the code of exported ones."""
        content = bytes(self.parts)
        return {name: content.index(code) for name, code in self.elf.static.items()}


def _notes(elf: Elf) -> bytes:
    notes = b""
    if elf.isa is not None:
        properties = struct.pack("<IIII", 0xC0000002, 4, 3, 0) + struct.pack(
            "<IIII", 0xC0008002, 4, ISA_LEVELS[elf.isa], 0
        )
        notes += struct.pack("<III4s", 4, len(properties), 5, b"GNU\0") + properties
    if elf.build_id:
        notes += struct.pack("<III4s", 4, len(elf.build_id), 3, b"GNU\0") + elf.build_id
    return notes


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """A line of a loader cache; `capabilities` are the bits of legacy hwcap subdirectories."""

    soname: str
    path: str
    subdirectory: str = ""
    capabilities: int = 0
    flags: int = 0x0303


def loader_cache(*entries: CacheEntry, old_format_first: bool = False) -> bytes:
    """Return a loader cache as `ldconfig` of glibc 2.33 and later writes it."""
    levels = sorted({entry.subdirectory for entry in entries} - {""})
    strings = bytearray()
    places: dict[str, int] = {}
    extension = 48 + 24 * len(entries)
    base = extension + 24 + 4 * len(levels)
    for text in [*levels, *(part for entry in entries for part in (entry.soname, entry.path))]:
        places.setdefault(text, base + len(strings))
        strings += text.encode() + b"\0"
    lines = b"".join(
        struct.pack(
            "<iIIIQ",
            *(entry.flags, places[entry.soname], places[entry.path], 0),
            (1 << 62) + levels.index(entry.subdirectory) if entry.subdirectory else entry.capabilities,
        )
        for entry in entries
    )
    header = b"glibc-ld.so.cache1.1" + struct.pack("<II4xI12x", len(entries), len(strings), extension)
    names = struct.pack("<IIIIII", 0xEAA42174, 1, 1, 0, extension + 24, 4 * len(levels))
    content = (
        header + lines + names + struct.pack(f"<{len(levels)}I", *(places[level] for level in levels)) + bytes(strings)
    )
    return b"ld.so-1.7.0\0" + struct.pack("<I", 1) + bytes(16) + content if old_format_first else content
