"""Dynamic sections are read correctly; a damaged file raises ElfError, and never another exception."""

import os
import struct
from pathlib import Path

import pytest
from support.elf.writer import ISA_LEVELS, PLAIN, Elf

from fastinstall.elf.dynamic import DynamicFile, read_dynamic
from fastinstall.elf.image import ElfError, ForeignElfError, open_image

WHOLE = Elf(
    soname="libcore.so.1",
    needed=("libjpeg.so.62", "libc.so.6"),
    rpath="/old",
    runpath="$ORIGIN/../pillow.libs:/opt/lib",
    interpreter="/lib64/ld-linux-x86-64.so.2",
    isa="x86-64-v3",
    build_id=bytes.fromhex("a7516ae81afc84"),
    exported={"ImagingResample": PLAIN, "ImagingFilter": PLAIN},
)


def test_everything_that_the_loader_goes_by_is_read(tmp_path: Path) -> None:
    assert read_dynamic(WHOLE.write(tmp_path / "lib.so")) == DynamicFile(
        machine="x86_64",
        interpreter="/lib64/ld-linux-x86-64.so.2",
        soname="libcore.so.1",
        needed=("libjpeg.so.62", "libc.so.6"),
        rpath="/old",
        runpath="$ORIGIN/../pillow.libs:/opt/lib",
        isa_needed="x86-64-v3",
        build_id="a7516ae81afc84",
    )


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_dynamic(Elf(machine=183).write(tmp_path / "lib.so")) == DynamicFile(machine="aarch64")


@pytest.mark.parametrize("size", [0, 4096, 65536])
def test_largest_page_size_follows_from_addresses_and_offsets(tmp_path: Path, size: int) -> None:
    assert read_dynamic(Elf(page_size=size).write(tmp_path / "lib.so")).page_size == size


@pytest.mark.parametrize("level", ISA_LEVELS)
def test_the_note_names_the_highest_level_needed(tmp_path: Path, level: str) -> None:
    assert read_dynamic(Elf(isa=level).write(tmp_path / "lib.so")).isa_needed == level


def test_nodefaultlib_is_seen(tmp_path: Path) -> None:
    assert not read_dynamic(Elf(flags_1=0x800).write(tmp_path / "lib.so")).default_directories


@pytest.mark.parametrize(
    ("flags", "flags_1", "symbolic"), [(0, 0, False), (2, 0, True), (8, 0, False), (0, 1, False), (0x14, 0x808, False)]
)
def test_a_file_that_is_bound_to_itself_first_is_seen(
    tmp_path: Path, flags: int, flags_1: int, *, symbolic: bool
) -> None:
    assert read_dynamic(Elf(flags=flags, flags_1=flags_1).write(tmp_path / "lib.so")).symbolic == symbolic


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty file"),
        (b"#!/bin/sh\nexec python3\n", "not an ELF file"),
        (b"\x7fE", "truncated: 2 bytes"),
        (b"\x7fELF\x02\x01\x01" + bytes(20), "truncated: 27 bytes"),
        (b"\x7fELF\x07\x01" + bytes(58), "no known class"),
        (Elf(kind=1).content(), "neither a program nor a shared library"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=problem) as caught:
        read_dynamic(path)
    assert str(path) in str(caught.value)
    assert problem in caught.value.problem


@pytest.mark.parametrize(("position", "value", "problem"), [(4, 1, "32-bit"), (5, 2, "big-endian")])
def test_a_foreign_file_is_told_from_a_damaged_one(tmp_path: Path, position: int, value: int, problem: str) -> None:
    content = bytearray(WHOLE.content())
    content[position] = value
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(ForeignElfError, match=problem):
        read_dynamic(path)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_dynamic(tmp_path / "lib.so")


def test_a_directory_and_a_pipe_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ElfError, match="not a regular file"):
            read_dynamic(path)


def test_a_segment_that_ends_behind_the_file_is_a_truncation(tmp_path: Path) -> None:
    content = bytearray(WHOLE.content())
    size_of_first_segment = 64 + 32
    content[size_of_first_segment + 2] += 1
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=f"truncated: {len(content)} bytes, where its segments need"):
        read_dynamic(path)


def test_every_truncation_is_reported(tmp_path: Path) -> None:
    path = WHOLE.write(tmp_path / "lib.so")
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        with pytest.raises(ElfError):
            read_dynamic(path)


@pytest.mark.parametrize(("position", "size"), [(64 + 56 + 32, 4097), (64 + 56 + 32, 1 << 40)])
def test_an_interpreters_path_beyond_reason_is_malformed(tmp_path: Path, position: int, size: int) -> None:
    content = bytearray(Elf(interpreter="/lib/ld.so").content())
    struct.pack_into("<Q", content, position, size)
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=f"path of {size} bytes"):
        read_dynamic(path)


def test_more_program_headers_than_the_kernel_allows_are_refused(tmp_path: Path) -> None:
    content = bytearray(WHOLE.content()) + bytes(0xFFFF * 56)
    struct.pack_into("<H", content, 56, 0xFFFF)
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(ElfError, match="malformed: 65535 program headers"):
        read_dynamic(path)


def test_a_dynamic_section_beyond_reason_is_malformed(tmp_path: Path) -> None:
    content = bytearray(Elf().content())
    struct.pack_into("<Q", content, 64 + 56 + 32, 1 << 40)
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=f"dynamic section of {1 << 40} bytes"):
        read_dynamic(path)


def test_long_strings_and_those_far_behind_are_read(tmp_path: Path) -> None:
    names = tuple(f"lib{number}.so.{'1' * 300}" for number in range(100))
    file = read_dynamic(Elf(needed=names, runpath="/a" * 9000, soname="libfar.so").write(tmp_path / "lib.so"))
    assert (file.needed, file.runpath, file.soname) == (names, "/a" * 9000, "libfar.so")


def test_a_file_that_shrinks_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = Elf(constants=bytes(1 << 16)).write(tmp_path / "lib.so")
    with open_image(path) as image:
        os.truncate(path, 5000)
        with pytest.raises(ElfError, match="changed while being read"):
            image.read(4096, 4096)
