"""The ABI of a libjpeg, by its soname."""

import pytest

from fastinstall.wheelbuild.headers import abi_of_library


@pytest.mark.parametrize(
    ("name", "abi"),
    [
        ("libjpeg-32d42e18.so.62.4.0", "62"),
        ("libjpeg.so.62", "62"),
        ("libjpeg.so.8.2.2", "80"),
        ("libjpeg.so", ""),
    ],
)
def test_the_abi_of_a_libjpeg_is_told_by_its_soname(name: str, abi: str) -> None:
    assert abi_of_library(name) == abi
