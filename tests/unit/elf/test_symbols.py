"""Symbols, the marks of an unoptimised build, and recorded compiler options."""

from pathlib import Path

import pytest
from support.elf.writer import FRAME, PLAIN, Elf

from fastinstall.elf.image import ElfError
from fastinstall.elf.symbols import compiler_switches, find_defined_names, measure_unoptimised_share

OPTIMISED_WITH_FRAME = bytes.fromhex("554889e541574156415541544989fc53") + bytes(16)
BRANCH_TARGET = bytes.fromhex("f30f1efa")
LARGE_FRAME = bytes.fromhex("554889e54881ec9001000048897de8") + bytes(16)
SAVED_REGISTER = bytes.fromhex("554889e5534883ec2848897de8") + bytes(16)
ROOM_OF_128 = bytes.fromhex("554889e54883c48048897da8") + bytes(16)
WITH_SYMBOLS = Elf(
    exported={"ImagingResample": FRAME, "ImagingFilter": PLAIN + bytes(9)},
    imported=("jpeg_read_header", "malloc"),
    static={"kernel": PLAIN + bytes(9)},
    switches=("GNU C17 -O3", "GNU C17 -O3", "GNU C17 -O2"),
)


def functions(start: bytes, count: int) -> dict[str, bytes]:
    return {f"{start.hex()}_{number}": start for number in range(count)}


@pytest.mark.parametrize("system_v_hash", [False, True])
def test_exported_symbols_are_found_by_either_hash_table(tmp_path: Path, *, system_v_hash: bool) -> None:
    elf = Elf(exported={"one": PLAIN, "two": PLAIN, "three": PLAIN}, imported=("malloc",), system_v_hash=system_v_hash)
    path = elf.write(tmp_path / "lib.so")
    assert find_defined_names(path, ("one", "two", "three", "malloc", "four")) == {"one", "two", "three"}


def test_a_library_that_only_imports_defines_nothing(tmp_path: Path) -> None:
    path = Elf(imported=("malloc", "free")).write(tmp_path / "lib.so")
    assert find_defined_names(path, ("malloc", "free")) == frozenset()


@pytest.mark.parametrize(
    "start", [FRAME, BRANCH_TARGET + FRAME, LARGE_FRAME, SAVED_REGISTER, ROOM_OF_128], ids=bytes.hex
)
def test_storing_a_parameter_in_a_frame_marks_unoptimised_code(tmp_path: Path, start: bytes) -> None:
    exported = functions(start, 15) | functions(PLAIN, 5)
    assert measure_unoptimised_share(Elf(exported=exported).write(tmp_path / "lib.so")) == pytest.approx(0.75)


@pytest.mark.parametrize("start", [PLAIN, OPTIMISED_WITH_FRAME, b"\x55\x48\x89"], ids=bytes.hex)
def test_a_frame_pointer_alone_does_not_mean_unoptimised_code(tmp_path: Path, start: bytes) -> None:
    assert measure_unoptimised_share(Elf(exported=functions(start, 12)).write(tmp_path / "lib.so")) == 0.0


def test_too_few_functions_tell_nothing(tmp_path: Path) -> None:
    assert measure_unoptimised_share(Elf(exported=functions(FRAME, 9)).write(tmp_path / "lib.so")) is None


def test_static_functions_count_where_few_are_exported(tmp_path: Path) -> None:
    static = {"first": FRAME} | {f"kernel_{number}": bytes([number]) * 16 for number in range(1, 10)}
    elf = Elf(exported={"all": b"".join(static.values())}, static=static)
    assert measure_unoptimised_share(elf.write(tmp_path / "lib.so")) == pytest.approx(0.1)


def test_another_machine_has_other_code(tmp_path: Path) -> None:
    elf = Elf(exported=functions(FRAME, 20), machine=243)
    assert measure_unoptimised_share(elf.write(tmp_path / "lib.so")) is None


def test_recorded_switches_are_listed_once(tmp_path: Path) -> None:
    assert compiler_switches(WITH_SYMBOLS.write(tmp_path / "lib.so")) == ("GNU C17 -O3", "GNU C17 -O2")


def test_a_stripped_file_has_no_switches(tmp_path: Path) -> None:
    assert compiler_switches(Elf(exported={"one": PLAIN}).write(tmp_path / "lib.so")) == ()


def test_a_section_of_text_beyond_reason_is_not_taken_apart(tmp_path: Path) -> None:
    elf = Elf(switches=("-" * (1 << 22),))
    with pytest.raises(ElfError, match="implausibly large: 4194305 bytes"):
        compiler_switches(elf.write(tmp_path / "lib.so"))


def test_of_very_many_functions_a_part_tells_the_share(tmp_path: Path) -> None:
    half = {f"f{number}": FRAME if number % 2 else PLAIN for number in range(9_000)}
    share = measure_unoptimised_share(Elf(exported=half, buckets=64).write(tmp_path / "lib.so"))
    assert share == pytest.approx(0.5, abs=0.05)


def test_only_whole_names_are_found_among_many_symbols(tmp_path: Path) -> None:
    path = WITH_SYMBOLS.write(tmp_path / "lib.so")
    assert find_defined_names(path, ()) == frozenset()
    names = ("ImagingResample", "ImagingFilter", "kernel", "Imaging", "Resample", "malloc", "absent")
    assert find_defined_names(path, names) == {"ImagingResample", "ImagingFilter", "kernel"}
