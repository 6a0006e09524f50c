"""What a pin takes back: told with both versions, and only that."""

from pathlib import PurePosixPath

import pytest

from fastinstall.guard.pip_trap import ForcedDowngrade, explain_pin_objection, find_forced_downgrades, make_refusal
from fastinstall.model.facts import Distribution

PREFIX = PurePosixPath("/srv/images/env")
THERE = (Distribution(name="imageio", version="2.37.0", metadata="imageio-2.37.0.dist-info"),)


@pytest.mark.parametrize(
    ("free", "held", "found"),
    [
        ({}, {}, None),
        ({"imageio": "2.38.0"}, {"imageio": "2.38.0"}, None),
        ({}, {"pillow": "13.0.0+simd.v3"}, None),
        ({"imageio": "2.38.0"}, {}, ("2.37.0", "2.38.0", False)),
        ({"imageio": "2.38.0"}, {"imageio": "2.0.0"}, ("2.0.0", "2.37.0", True)),
        ({}, {"imageio": "2.9.0"}, ("2.9.0", "2.37.0", True)),
        ({"imageio": "2.38.0"}, {"imageio": "of old"}, None),
    ],
)
def test_older_than_it_is_or_than_it_could_be(
    free: dict[str, str], held: dict[str, str], found: tuple[str, str, bool] | None
) -> None:
    expected = (
        () if found is None else (ForcedDowngrade(name="imageio", held=found[0], other=found[1], installed=found[2]),)
    )
    assert find_forced_downgrades(THERE, free, held, ("imageio",)) == expected


def test_a_refusal_names_both_versions_and_says_that_nothing_was_changed() -> None:
    back = (ForcedDowngrade(name="imageio", held="2.0.0", other="2.37.0", installed=True),)
    spoken = explain_pin_objection(back, "", "pillow==13.0.0+simd.v3")
    assert spoken == "held to pillow==13.0.0+simd.v3, pip takes imageio 2.0.0 instead of 2.37.0"
    error = make_refusal(spoken, back, PREFIX)
    assert error.message == f"{PREFIX}: not pinned, nothing was changed: {spoken}"
    assert error.details == ("imageio: 2.37.0 is installed",)


def test_where_nothing_fits_that_is_what_is_said() -> None:
    assert explain_pin_objection((), "ResolutionImpossible", "pillow==13.0.0+simd.v3").endswith(
        "nothing: ResolutionImpossible"
    )
    assert explain_pin_objection((), "", "pillow==13.0.0+simd.v3") == ""
