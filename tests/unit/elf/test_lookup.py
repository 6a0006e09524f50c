"""Symbol lookup: names, references with versions, and the definitions to which the references are bound."""

import struct
from pathlib import Path

import pytest
from support.elf.writer import PLAIN, Elf

from fastinstall.elf.image import ElfError
from fastinstall.elf.lookup import (
    Definition,
    Reference,
    definition_for,
    find_all_definitions,
    find_definitions,
    references,
)

NAMES = tuple(f"jpeg_{number}" for number in range(40))
MANY = Elf(exported=dict.fromkeys(NAMES, PLAIN), imported=("malloc", "jpeg_40"), buckets=7)
VERSIONED = Elf(
    exported={"scale@OLD_1": PLAIN, "scale@MIDDLE_2": PLAIN, "scale@@NEW_3": PLAIN, "plain": PLAIN},
    imported=("malloc@GLIBC_2.2.5:libc.so.6", "hook", "late@OLD_1"),
    weak=("hook",),
)
OLD = Definition(name="scale", version="OLD_1", hidden=True, oldest=True)
MIDDLE = Definition(name="scale", version="MIDDLE_2", hidden=True, oldest=False)
NEW = Definition(name="scale", version="NEW_3", hidden=False, oldest=False)
UNVERSIONED = Definition(name="scale")
GNU_HASH, SYSTEM_V_HASH, SYMBOLS = 0x6FFFFEF5, 4, 6


@pytest.mark.parametrize("buckets", [1, 2, 7, 64])
@pytest.mark.parametrize("system_v_hash", [False, True])
def test_every_name_is_found(tmp_path: Path, buckets: int, *, system_v_hash: bool) -> None:
    elf = Elf(exported=MANY.exported, imported=MANY.imported, buckets=buckets, system_v_hash=system_v_hash)
    found = find_all_definitions(elf.write(tmp_path / "lib.so"), (*NAMES, "malloc", "jpeg_40", "jpeg_41", ""))
    assert {name for name, definitions in found.items() if definitions} == set(NAMES)
    assert found["jpeg_7"] == (Definition(name="jpeg_7"),)


def test_without_a_hash_table_nothing_is_found(tmp_path: Path) -> None:
    content = MANY.content().replace(struct.pack("<Q", GNU_HASH), struct.pack("<Q", 0x6000_0000))
    path = written(tmp_path, content)
    assert find_definitions(path, "jpeg_1") == ()
    assert references(path) == {}


def test_a_file_without_symbols_has_neither(tmp_path: Path) -> None:
    path = Elf().write(tmp_path / "lib.so")
    assert find_definitions(path, "jpeg_1") == ()
    assert references(path) == {}


@pytest.mark.parametrize("system_v_hash", [False, True])
def test_a_name_has_a_definition_for_each_version(tmp_path: Path, *, system_v_hash: bool) -> None:
    elf = Elf(exported=VERSIONED.exported, imported=VERSIONED.imported, system_v_hash=system_v_hash)
    path = elf.write(tmp_path / "lib.so")
    assert set(find_definitions(path, "scale")) == {OLD, MIDDLE, NEW}
    assert find_definitions(path, "plain") == (Definition(name="plain"),)


@pytest.mark.parametrize("system_v_hash", [False, True])
def test_references_name_the_version_and_its_library(tmp_path: Path, *, system_v_hash: bool) -> None:
    elf = Elf(exported=VERSIONED.exported, imported=VERSIONED.imported, weak=("hook",), system_v_hash=system_v_hash)
    assert references(elf.write(tmp_path / "lib.so")) == {
        "malloc": Reference(name="malloc", version="GLIBC_2.2.5"),
        "hook": Reference(name="hook"),
        "late": Reference(name="late", version="OLD_1"),
    }


@pytest.mark.parametrize(
    ("definitions", "version", "chosen"),
    [
        ((NEW, MIDDLE, OLD), "MIDDLE_2", MIDDLE),
        ((NEW, MIDDLE, OLD), "NEW_3", NEW),
        ((NEW, MIDDLE, OLD), "OTHER_1", None),
        ((NEW, MIDDLE, OLD), "", OLD),
        ((MIDDLE, NEW), "", NEW),
        ((MIDDLE,), "", None),
        ((UNVERSIONED,), "OTHER_1", UNVERSIONED),
        ((UNVERSIONED,), "", UNVERSIONED),
        ((), "NEW_3", None),
        ((), "", None),
    ],
)
def test_a_reference_gets_the_definition_the_loader_would_take(
    definitions: tuple[Definition, ...], version: str, chosen: Definition | None
) -> None:
    assert definition_for(definitions, Reference(name="scale", version=version)) == chosen


@pytest.mark.parametrize(
    ("offset", "value", "problem"),
    [
        (0, 0xFFFF_FFFF, "no segment|cross a segment|cut off"),  # buckets
        (4, 0xFFFF_FFFF, "no segment|cross a segment"),  # the index of the first symbol
        (8, 0, "no segment"),
        (8, 0x8000_0000, "no segment|cut off"),
    ],
)
def test_a_hash_table_beyond_reason_is_malformed(tmp_path: Path, offset: int, value: int, problem: str) -> None:
    content = bytearray(MANY.content())
    struct.pack_into("<I", content, value_of(content, GNU_HASH) + offset, value)
    with pytest.raises(ElfError, match=problem):
        find_all_definitions(written(tmp_path, content), NAMES)


def test_a_chain_without_an_end_is_malformed(tmp_path: Path) -> None:
    elf = Elf(exported={"jpeg_1": PLAIN}, constants=struct.pack("<IIIIQI", 1, 1, 1, 0, 2**64 - 1, 1) + bytes(1 << 19))
    content = bytearray(elf.content())
    start = content.index(elf.constants)
    content[:] = content.replace(
        struct.pack("<QQ", GNU_HASH, value_of(content, GNU_HASH)), struct.pack("<QQ", GNU_HASH, start)
    )
    path = written(tmp_path, content)
    with pytest.raises(ElfError, match="without an end"):
        find_definitions(path, "jpeg_1")


def value_of(content: bytes | bytearray, tag: int) -> int:
    """Return the value of a tag in the dynamic section."""
    position = content.rindex(struct.pack("<Q", tag))
    return int(struct.unpack_from("<Q", content, position + 8)[0])


def written(directory: Path, content: bytes | bytearray) -> Path:
    path = directory / "lib.so"
    path.write_bytes(content)
    return path
