"""Which platform tags a wheel keeps after its core is replaced."""

import pytest

from fastinstall.wheelbuild.assemble import platforms

OFFICIAL = ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64")


@pytest.mark.parametrize(
    ("certified", "expected"),
    [
        ("manylinux_2_27_x86_64", OFFICIAL),
        ("manylinux_2_17_x86_64", OFFICIAL),
        ("manylinux_2_28_x86_64", ("manylinux_2_28_x86_64",)),
        ("manylinux_2_38_x86_64", ("manylinux_2_38_x86_64",)),
        ("linux_x86_64", ("linux_x86_64",)),
        ("musllinux_1_2_x86_64", ("musllinux_1_2_x86_64",)),
        ("manylinux_2_17_aarch64", ("manylinux_2_17_aarch64",)),
    ],
)
def test_official_tags_stay_only_where_the_core_is_no_worse(certified: str, expected: tuple[str, ...]) -> None:
    assert platforms(certified, OFFICIAL) == expected
