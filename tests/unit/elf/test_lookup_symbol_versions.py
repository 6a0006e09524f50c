"""Symbol versions: required ones and defined ones; tables that loop or repeat do not hang the reader."""

import struct
from pathlib import Path

import pytest
from support.elf.writer import PLAIN, Elf

from fastinstall.elf.image import ElfError
from fastinstall.elf.lookup import SymbolVersions, read_versions

VERSIONED = Elf(
    soname="libjpeg.so.8",
    needed=("libc.so.6", "libm.so.6"),
    exported={"jpeg_read_header@@LIBJPEG_8.0": PLAIN, "tjInit@@TURBOJPEG_1.0": PLAIN, "plain": PLAIN},
    imported=("malloc@GLIBC_2.2.5:libc.so.6", "pow@GLIBC_2.29:libm.so.6", "memcpy@GLIBC_2.14:libc.so.6"),
)
DEFINED, NEEDED = 0x6FFFFFFC, 0x6FFFFFFE


def test_versions_are_read_in_the_files_order(tmp_path: Path) -> None:
    assert read_versions(VERSIONED.write(tmp_path / "lib.so")) == SymbolVersions(
        needed={"libc.so.6": ("GLIBC_2.2.5", "GLIBC_2.14"), "libm.so.6": ("GLIBC_2.29",)},
        defined=("LIBJPEG_8.0", "TURBOJPEG_1.0"),
    )


def test_a_version_that_may_be_missing_is_not_needed(tmp_path: Path) -> None:
    content = bytearray(VERSIONED.content())
    table = value_of(content, NEEDED)
    (first,) = struct.unpack_from("<I", content, table + 8)  # Elf64_Verneed: vn_aux
    struct.pack_into("<H", content, table + first + 4, 2)  # Elf64_Vernaux: vna_flags, VER_FLG_WEAK
    needed = read_versions(written(tmp_path, content)).needed
    assert needed["libc.so.6"] == ("GLIBC_2.14",)


@pytest.mark.parametrize("elf", [Elf(), Elf(exported={"one": PLAIN}, imported=("malloc",))], ids=["empty", "plain"])
def test_a_file_without_versions_has_none(tmp_path: Path, elf: Elf) -> None:
    assert read_versions(elf.write(tmp_path / "lib.so")) == SymbolVersions()


@pytest.mark.parametrize("tag", [DEFINED, NEEDED])
def test_an_unknown_format_is_malformed(tmp_path: Path, tag: int) -> None:
    content = bytearray(VERSIONED.content())
    struct.pack_into("<H", content, value_of(content, tag), 2)
    with pytest.raises(ElfError, match="symbol versions of format 2"):
        read_versions(written(tmp_path, content))


def test_versions_that_all_libraries_share_are_counted_each_time(tmp_path: Path) -> None:
    """Each of a hundred libraries in the table refers to the same list of a thousand versions."""
    entries = b"".join(
        struct.pack("<HHIII", 1, 1000, 1, 1600 - 16 * number, 16 if number < 99 else 0) for number in range(100)
    )
    versions = struct.pack("<IHHII", 0, 0, 2, 1, 16) * 999 + struct.pack("<IHHII", 0, 0, 2, 1, 0)
    with pytest.raises(ElfError, match="more symbol versions"):
        read_versions(with_table(tmp_path, NEEDED, entries + versions))


def test_definitions_without_an_end_are_malformed(tmp_path: Path) -> None:
    entries = struct.pack("<HHHHIII", 1, 0, 2, 1, 0, 20, 20) * (1 << 15)
    with pytest.raises(ElfError, match="symbol versions without an end"):
        read_versions(with_table(tmp_path, DEFINED, entries + bytes(64)))


def test_long_names_that_overlap_are_bounded(tmp_path: Path) -> None:
    """Ten thousand versions have names that share the same fifty thousand characters."""
    count = 10_000
    names = bytes(1) + b"v" * 50_000 + b"\0"
    entries = b"".join(
        struct.pack("<HHHHIIIII", 1, 0, 2, 1, 0, 20, 28 if number < count else 0, number, 0)
        for number in range(1, count + 1)
    )
    with pytest.raises(ElfError, match="too many strings"):
        read_versions(with_table(tmp_path, DEFINED, entries, names))


def value_of(content: bytes | bytearray, tag: int) -> int:
    """Return the value of a tag in the dynamic section."""
    position = content.index(struct.pack("<Q", tag))
    return int(struct.unpack_from("<Q", content, position + 8)[0])


def with_table(directory: Path, tag: int, table: bytes, strings: bytes = b"\0libx.so\0") -> Path:
    """Return a file whose dynamic section refers, by `tag`, to this table, and to the table's strings."""
    content = bytearray(Elf(constants=strings.ljust(-(-len(strings) // 8) * 8, b"\0") + table).content())
    start = content.index(strings)
    entries = ((5, start), (10, len(strings)), (tag, start + -(-len(strings) // 8) * 8), (0, 0))
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    position = content.rindex(struct.pack("<Q", 5))
    content[position : position + len(dynamic)] = dynamic
    header = content.index(struct.pack("<II", 2, 4))
    size = len(content)
    for place, value in ((header + 32, len(dynamic)), (header + 40, len(dynamic)), (64 + 32, size), (64 + 40, size)):
        struct.pack_into("<Q", content, place, value)
    return written(directory, content)


def written(directory: Path, content: bytes | bytearray) -> Path:
    path = directory / "lib.so"
    path.write_bytes(content)
    return path
