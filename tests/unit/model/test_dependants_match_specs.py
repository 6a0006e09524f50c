"""Names and bounds in conda's match specs, as far as messages need them."""

import pytest

from fastinstall.model.dependants import bounds_of, name_of_spec


@pytest.mark.parametrize(
    ("spec", "name", "bounds"),
    [
        ("pillow", "pillow", ""),
        ("pillow >=12,<13.0a0", "pillow", ">=12,<13.0a0"),
        ("pillow>=12", "pillow", ">=12"),
        ("conda-forge::pillow 12.* py311*", "pillow", "12.* py311*"),
        ("file:///srv/my/channel/linux-64::pillow==12.1", "pillow", "==12.1"),
        ("pillow[version='>=12']", "pillow", "[version='>=12']"),
        (" Pillow =12 ", "pillow", "=12"),
        ("pillow-perf =1", "pillow-perf", "=1"),
        ("__glibc >=2.17", "__glibc", ">=2.17"),
        ("", "", ""),
        ("[build=simd_*]", "", ""),
    ],
)
def test_a_spec_is_taken_apart(spec: str, name: str, bounds: str) -> None:
    assert (name_of_spec(spec), bounds_of(spec)) == (name, bounds)
