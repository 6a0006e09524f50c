"""An upgrade that a pin holds back is reported with both versions; nothing else is reported."""

import pytest

from fastinstall.guard.pinning import find_forced_downgrades
from fastinstall.model.facts import Distribution

WITHOUT = "is what comes without the pin"
INSTALLED = "imageio: 2.37.0 is installed"
THERE = (Distribution(name="imageio", version="2.37.0", metadata="imageio-2.37.0.dist-info"),)


@pytest.mark.parametrize(
    ("free", "held", "found"),
    [
        ({}, {}, {}),
        ({"imageio": "2.38.0"}, {"imageio": "2.38.0"}, {}),
        ({}, {"pillow": "13.0.0+simd.v3"}, {}),
        ({"imageio": "2.38.0"}, {}, {"imageio 2.37.0 instead of 2.38.0": f"imageio: 2.38.0 {WITHOUT}"}),
        (
            {"imageio": "2.38.0"},
            {"imageio": "2.0.0"},
            {"imageio 2.0.0 instead of 2.37.0": INSTALLED},
        ),
        ({}, {"imageio": "2.9.0"}, {"imageio 2.9.0 instead of 2.37.0": INSTALLED}),
        ({"imageio": "2.38.0"}, {"imageio": "of old"}, {}),
    ],
)
def test_older_than_it_is_or_than_it_could_be(
    free: dict[str, str], held: dict[str, str], found: dict[str, str]
) -> None:
    assert find_forced_downgrades(THERE, free, held, ("imageio",)) == found
