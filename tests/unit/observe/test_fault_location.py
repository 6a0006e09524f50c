"""Where a signal struck, from an address and a memory map."""

from pathlib import Path

import pytest

from fastinstall.model.facts import Fault
from fastinstall.observe.fault_location import read_fault

AVX2 = bytes.fromhex("c4e27d3006")  # vpmovzxbw ymm0, [rsi]
START, OFFSET = 0x7F0000001000, 0x1000


def maps(path: Path | str) -> list[str]:
    line = f"{START:x}-{START + 0x1000:x} r-xp {OFFSET:08x} fe:00 26723                      {path}"
    return ['{"event": "fault"}', "55550000-55551000 r-xp 00000000 fe:00 7 /usr/bin/python3", line]


def told(address: int, path: Path | str, *, decode: bool = True) -> Fault:
    fault = read_fault(address, maps(path), decode=decode)
    assert fault is not None
    return fault


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "a library.so"
    path.write_bytes(bytes(OFFSET + 16) + AVX2 + b"\x90" * 64)
    return path


def test_the_file_and_the_offset_are_found(library: Path) -> None:
    fault = told(START + 16, library, decode=False)
    assert (fault.file, fault.offset) == (library, OFFSET + 16)
    assert fault.code == AVX2.hex() + "90" * 10
    assert (fault.instruction, fault.features) == ("", ())


def test_the_instruction_and_what_it_needs_are_named(library: Path) -> None:
    fault = told(START + 16, library)
    assert (fault.instruction, fault.features) == ("vpmovzxbw ymm0,[rsi]", ("avx2",))


def test_bytes_that_are_no_instruction_stay_unnamed(library: Path) -> None:
    library.write_bytes(bytes(OFFSET) + b"\x06" * 32)
    fault = told(START, library)
    assert (fault.offset, fault.instruction, fault.features) == (OFFSET, "", ())


def test_code_that_is_cut_off_by_the_end_of_the_file_is_not_invented(library: Path) -> None:
    fault = told(START + 0x800, library)
    assert (fault.file, fault.offset, fault.code, fault.instruction) == (library, OFFSET + 0x800, "", "")


def test_a_file_that_is_gone_is_named_all_the_same(tmp_path: Path) -> None:
    fault = told(START, f"{tmp_path}/gone.so (deleted)")
    assert (fault.file, fault.code) == (tmp_path / "gone.so", "")


@pytest.mark.parametrize("name", ["", "[heap]", "/memfd:jit (deleted)"])
def test_code_of_no_file_has_none(name: str) -> None:
    fault = told(START, name)
    assert (fault.file, fault.offset, fault.code) == (None, 0, "")


def test_an_address_that_nothing_is_mapped_at_has_no_file(library: Path) -> None:
    assert told(0, library).file is None


def test_without_a_map_nothing_is_told() -> None:
    assert read_fault(START, ['{"event": "fault"}'], decode=True) is None
