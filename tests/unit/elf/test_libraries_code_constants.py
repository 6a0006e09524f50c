"""Versions that stand in code alone."""

from pathlib import Path

import pytest
from support.elf.writer import PLAIN, Elf

from fastinstall.elf.libraries import freetype_version, identify, read_returned_number

SINGLY = "c7400802000000 488b45f8 c7400c0d000000 488b45f8 c7401003000000 c3"
TOGETHER = "488b050b000000 c7421003000000 48894208 02000000 0d000000 c3"


@pytest.mark.parametrize(
    ("code", "machine", "number"),
    [
        ("b800060100 c3", 62, 0x10600),
        ("f30f1efa b800060100 c3", 62, 0x10600),
        ("554889e5 b866080000 5d c3", 62, 2150),
        ("b800060100 ffc0 c3", 62, None),
        ("488d0437 c3", 62, None),
        ("00c08052 2000a072 c0035fd6", 183, 0x10600),
        ("5f2403d5 c0108152 c0035fd6", 183, 2182),
        ("00c08052 00040011 c0035fd6", 183, None),
        ("c0035fd6", 183, None),
        ("b800060100 c3", 243, None),
    ],
)
def test_a_number_is_read_where_a_function_returns_nothing_else(
    tmp_path: Path, code: str, machine: int, number: int | None
) -> None:
    elf = Elf(machine=machine, exported={"version": bytes.fromhex(code)})
    assert read_returned_number(elf.write(tmp_path / "lib.so"), "version") == number


def test_of_a_function_that_is_not_there_nothing_is_known(tmp_path: Path) -> None:
    path = Elf(exported={"other": PLAIN}).write(tmp_path / "lib.so")
    assert read_returned_number(path, "version") is None
    assert freetype_version(path) == ""


@pytest.mark.parametrize(
    ("code", "version"),
    [
        (SINGLY, "2.13.3"),
        (TOGETHER, "2.13.3"),
        (SINGLY.replace("c7400802", "c7400803"), ""),
        ("c7400802000000 c7400c0d000000 c3", ""),
        ("c7421003000000 c3", ""),
    ],
)
def test_freetypes_version_is_read_from_where_it_is_stored(tmp_path: Path, code: str, version: str) -> None:
    path = Elf(exported={"FT_New_Library": bytes.fromhex(code)}).write(tmp_path / "lib.so")
    assert freetype_version(path) == version


def test_freetypes_code_for_other_machines_is_not_read(tmp_path: Path) -> None:
    elf = Elf(machine=183, exported={"FT_New_Library": bytes.fromhex(SINGLY)})
    assert freetype_version(elf.write(tmp_path / "lib.so")) == ""


@pytest.mark.parametrize(
    ("functions", "version"),
    [
        ({"WebPGetDecoderVersion": "b804020100 c3"}, "libwebp 1.2.4"),
        ({"cmsOpenProfileFromMem": "c3", "cmsGetEncodedCMMversion": "b866080000 c3"}, "Little CMS 2.15"),
        ({"FT_Init_FreeType": "c3", "FT_New_Library": SINGLY}, "FreeType 2.13.3"),
    ],
)
def test_it_is_the_version_of_the_library(tmp_path: Path, functions: dict[str, str], version: str) -> None:
    elf = Elf(exported={name: bytes.fromhex(code) for name, code in functions.items()})
    (found,) = identify(elf.write(tmp_path / "lib.so"))
    assert f"{found.implementation} {found.version}" == version
