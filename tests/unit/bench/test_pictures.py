"""The difference between the pictures of two decoders, and pictures that cannot be of the same image."""

import pytest

from fastinstall.bench.loading import Picture
from fastinstall.bench.pictures import compare_pictures, explain_wrong_picture


def picture(data: bytes, *shape: int) -> Picture:
    return Picture(shape=shape or (len(data),), data=data)


def test_differences_count_by_pixels() -> None:
    small, large = picture(bytes(10)), picture(bytes(30))
    found = compare_pictures((small, large), (picture(bytes([4] * 10)), large))
    assert (found.mean, found.highest, found.images, found.same_shape) == (1.0, 4, 2, True)
    one, other = bytes(left for left in range(256) for _ in range(256)), bytes(range(256)) * 256
    every_pair = compare_pictures((picture(one),), (picture(other),))
    assert every_pair.mean == pytest.approx((256 * 256 - 1) / (3 * 256))
    assert every_pair.highest == 255


@pytest.mark.parametrize("other", [picture(bytes(12), 1, 4, 3), picture(bytes(9), 2, 2, 3)])
def test_pictures_of_another_shape_are_not_compared(other: Picture) -> None:
    assert not compare_pictures((picture(bytes(12), 2, 2, 3),), (other,)).same_shape


PHOTO = picture(bytes([120, 100, 80]) * 8, 2, 4, 3)
WRONG = {
    "black": picture(bytes(24), 2, 4, 3),
    "darker": picture(bytes([40, 30, 20]) * 8, 2, 4, 3),
    "cut otherwise": picture(bytes([120, 100, 80]) * 16, 4, 4, 3),
}
RIGHT = {
    "the same": PHOTO,
    "other colours": picture(bytes([140, 80, 70]) * 8, 2, 4, 3),
    "turned": picture(bytes([120, 100, 80]) * 8, 4, 2, 3),
    "no picture": picture(bytes(24)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_picture_is_explained(name: str) -> None:
    assert explain_wrong_picture(PHOTO, WRONG[name], is_same_pipeline=True)
    explained = explain_wrong_picture(PHOTO, WRONG[name], is_same_pipeline=False)
    assert bool(explained) is (name == "black"), "an own loader may resize and normalise otherwise"


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_picture_is_not_wrong(name: str) -> None:
    assert explain_wrong_picture(PHOTO, RIGHT[name], is_same_pipeline=True) == ""
