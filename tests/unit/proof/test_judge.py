import struct

import pytest

from fastinstall.proof.judge import find_excesses, measure_distance
from fastinstall.proof.runs import ProofPicture


def one(mode: str, *values: int) -> tuple[ProofPicture]:
    return (ProofPicture(mode, (1, 1), bytes(values)),)


@pytest.mark.parametrize(
    ("mode", "ours", "theirs", "largest"),
    [
        ("RGB", (1, 2, 3), (1, 2, 3), 0),
        ("RGB", (1, 2, 3), (1, 5, 2), 3),
        ("RGB", (0, 0, 0), (0, 0, 255), 255),
        ("RGBA", (200, 9, 9, 0), (3, 9, 9, 0), 0),
        ("RGBA", (200, 9, 9, 51), (190, 9, 9, 51), 2),
        ("RGBA", (0, 0, 0, 255), (0, 0, 0, 251), 4),
        ("LA", (100, 255), (101, 255), 1),
        ("HSV", (255, 7, 7), (0, 7, 7), 1),
        ("HSV", (7, 255, 7), (7, 0, 7), 255),
        ("LAB", (255, 0, 255), (255, 255, 1), 2),
        ("LAB", (255, 0, 0), (0, 0, 0), 255),
        ("1", (0b10000000,), (0b00000000,), 255),
        ("P", (7,), (8,), 255),
        ("values", (65,), (66,), 255),
        ("I;16", (0x00, 0x01), (0xFF, 0x00), 1),
        ("I;16B", (0x01, 0x00), (0x00, 0xFF), 1),
        ("I;16B", (0x01, 0x00), (0x03, 0x00), 512),
    ],
)
def test_the_largest_difference_is_in_steps_of_the_mode(
    mode: str, ours: tuple[int, ...], theirs: tuple[int, ...], largest: float
) -> None:
    assert measure_distance(one(mode, *ours), one(mode, *theirs)).largest == largest
    assert measure_distance(one(mode, *theirs), one(mode, *ours)).largest == largest


def numbers(form: str, *values: float) -> tuple[ProofPicture]:
    return (ProofPicture({"i": "I", "f": "F"}[form], (len(values), 1), struct.pack(f"={len(values)}{form}", *values)),)


def test_numbers_of_32_bits_are_compared_as_numbers() -> None:
    assert measure_distance(numbers("i", -1, 70000), numbers("i", 0, 70001)).largest == 1
    assert measure_distance(numbers("f", 0.25, 1e9), numbers("f", 0.5, 1e9)).largest == 0.25


def test_no_number_is_near_to_one_that_is_none() -> None:
    assert measure_distance(numbers("f", float("nan")), numbers("f", 1.0)).largest == 255


@pytest.mark.parametrize(
    ("ours", "theirs", "problem"),
    [
        (one("L", 1), one("P", 1), "mode L, 1x1, 1 bytes, expected mode P, 1x1, 1 bytes"),
        (one("L", 1) + one("L", 1), one("L", 1), "2 pictures, expected 1"),
        (
            (ProofPicture("L", (2, 1), b"ab"),),
            (ProofPicture("L", (1, 2), b"ab"),),
            "mode L, 2x1, 2 bytes, expected mode L, 1x2",
        ),
    ],
)
def test_what_has_another_shape_is_not_compared(
    ours: tuple[ProofPicture, ...], theirs: tuple[ProofPicture, ...], problem: str
) -> None:
    assert measure_distance(ours, theirs).problem.startswith(problem)


def test_the_bias_is_that_of_the_band_where_it_is_largest() -> None:
    theirs = ProofPicture("RGB", (4, 1), bytes(12))
    ours = ProofPicture("RGB", (4, 1), bytes((0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1)))
    found = measure_distance((ours,), (theirs,))
    assert (found.largest, found.bias, found.samples) == (1, 0.75, 12)
    assert measure_distance((theirs,), (ours,)).bias == -0.75


def test_errors_to_both_sides_are_no_bias() -> None:
    assert (
        measure_distance((ProofPicture("L", (2, 1), b"\x05\x07"),), (ProofPicture("L", (2, 1), b"\x06\x06"),)).bias == 0
    )


def test_an_exact_comparison_also_sees_invisible_colours() -> None:
    hidden = {"resize/RGBA/1x1/box,1x1": measure_distance(one("RGBA", 200, 9, 9, 0), one("RGBA", 3, 9, 9, 0))}
    assert list(find_excesses(hidden, exact=False)) == []
    assert [found.case for found in find_excesses(hidden, exact=True)] == list(hidden)


def test_what_has_to_be_equal_has_no_tolerance() -> None:
    near = {"resize/RGB/1x1/box,1x1": measure_distance(one("RGB", 1, 2, 3), one("RGB", 1, 2, 4))}
    assert list(find_excesses(near, exact=False)) == []
    assert [found.allowed for found in find_excesses(near, exact=True)] == [0]
