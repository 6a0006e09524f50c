"""Tables of dynamic symbols for `writer`: hash tables and versions."""

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_NAME = re.compile(r"(?P<name>[^@]+)(?:(?P<mark>@@?)(?P<version>[^:]+)(?::(?P<library>.+))?)?")

Text = Callable[[str], int]


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A symbol in assembler notation: "one", "one@@NEW_2" (the default), "one@OLD_1", "one@OLD_1:libone.so"."""

    name: str
    version: str = ""
    hidden: bool = False
    library: str = ""


def parse_symbol(text: str) -> Symbol:
    """Parse a symbol."""
    match = _NAME.fullmatch(text)
    assert match is not None, text
    hidden = match["mark"] == "@" and not match["library"]
    return Symbol(name=match["name"], version=match["version"] or "", hidden=hidden, library=match["library"] or "")


def bucket(name: str, buckets: int) -> int:
    """Return the bucket of a name in a DT_GNU_HASH table, in which symbols are sorted by bucket."""
    return _gnu_code(name) % buckets


def gnu_hash(names: Sequence[str], first: int, buckets: int) -> bytes:
    """Return a DT_GNU_HASH table of the symbols with index `first` and higher."""
    codes = [_gnu_code(name) for name in names]
    starts, chain, bits = [0] * buckets, [], 0
    for position, code in enumerate(codes):
        starts[code % buckets] = starts[code % buckets] or first + position
        last = position + 1 == len(codes) or codes[position + 1] % buckets != code % buckets
        chain.append(code & ~1 | last)
        bits |= 1 << code % 64 | 1 << (code >> 6) % 64
    return struct.pack(f"<IIIIQ{buckets}I{len(chain)}I", buckets, first, 1, 6, bits, *starts, *chain)


def system_v_hash(names: Sequence[str], buckets: int) -> bytes:
    """Return a DT_HASH table of all symbols, including the nameless first one."""
    starts, chain = [0] * buckets, [0] * len(names)
    for index, name in enumerate(names):
        if name:
            place = _system_v_code(name) % buckets
            chain[index], starts[place] = starts[place], index
    return struct.pack(f"<II{buckets}I{len(chain)}I", buckets, len(chain), *starts, *chain)


@dataclass(frozen=True, kw_only=True)
class VersionTables:
    """DT_VERSYM, DT_VERDEF with its number of entries, and DT_VERNEED with its number of libraries."""

    indices: bytes
    defined: bytes
    defined_count: int
    needed: bytes
    needed_count: int


def version_tables(symbols: Sequence[Symbol], base: str, text: Text) -> VersionTables:
    """Return the version tables of symbols, including the nameless first one."""
    own = list(dict.fromkeys(one.version for one in symbols if one.version and not one.library))
    needed = list(dict.fromkeys((one.library, one.version) for one in symbols if one.library))
    order = [("", name) for name in own] + needed
    indices = [
        order.index((one.library, one.version)) + 2 | (0x8000 if one.hidden else 0) if one.version else int(number > 0)
        for number, one in enumerate(symbols)
    ]
    libraries = list(dict.fromkeys(library for library, _ in needed))
    return VersionTables(
        indices=struct.pack(f"<{len(indices)}H", *indices),
        defined=_definitions((base, *own), text) if own else b"",
        defined_count=len(own) + 1 if own else 0,
        needed=b"".join(
            _need(library, [(order.index(one) + 2, one[1]) for one in needed if one[0] == library], text, last)
            for library, last in ((library, library == libraries[-1]) for library in libraries)
        ),
        needed_count=len(libraries),
    )


def _definitions(names: Sequence[str], text: Text) -> bytes:
    return b"".join(
        struct.pack("<HHHHIIIII", 1, number == 1, number, 1, 0, 20, 28 if number < len(names) else 0, text(name), 0)
        for number, name in enumerate(names, 1)
    )


def _need(library: str, versions: Sequence[tuple[int, str]], text: Text, last: bool) -> bytes:  # noqa: FBT001 (a word)
    size = 16 + 16 * len(versions)
    entry = struct.pack("<HHIII", 1, len(versions), text(library), 16, 0 if last else size)
    return entry + b"".join(
        struct.pack("<IHHII", 0, 0, index, text(name), 16 if number < len(versions) else 0)
        for number, (index, name) in enumerate(versions, 1)
    )


def _gnu_code(name: str) -> int:
    code = 5381
    for byte in name.encode():
        code = (code * 33 + byte) % 2**32
    return code


def _system_v_code(name: str) -> int:
    code = 0
    for byte in name.encode():
        code = (code * 16 + byte) % 2**32
        high = code & 0xF0000000
        code = (code ^ high >> 24) & ~high
    return code
