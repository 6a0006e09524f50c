"""Versions that are found only as constants in code."""

from pathlib import Path

import pytest
from support.elf.writer import PLAIN, Elf

from fastinstall.elf.libraries import identify, read_returned_number


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


@pytest.mark.parametrize(
    ("functions", "version"),
    [
        ({"WebPGetDecoderVersion": "b804020100 c3"}, "libwebp 1.2.4"),
        ({"cmsOpenProfileFromMem": "c3", "cmsGetEncodedCMMversion": "b866080000 c3"}, "Little CMS 2.15"),
    ],
)
def test_it_is_the_version_of_the_library(tmp_path: Path, functions: dict[str, str], version: str) -> None:
    elf = Elf(exported={name: bytes.fromhex(code) for name, code in functions.items()})
    (found,) = identify(elf.write(tmp_path / "lib.so"))
    assert f"{found.implementation} {found.version}" == version
