"""How far pictures are apart, by arithmetic that is checked against the plain way."""

import pytest

from fastinstall.bench.comparison import compare_pictures
from fastinstall.bench.loading import Picture


def picture(data: bytes, shape: tuple[int, ...] = ()) -> Picture:
    return Picture(shape=shape or (len(data),), data=data)


@pytest.mark.parametrize("step", [1, 7, 250])
def test_the_mean_and_the_highest_are_those_of_the_plain_way(step: int) -> None:
    one = bytes(each * 37 % 256 for each in range(70_001))
    other = bytes(each * 37 * step % 256 for each in range(70_001))
    plain = [abs(left - right) for left, right in zip(one, other, strict=True)]
    found = compare_pictures((picture(one),), (picture(other),))
    assert (found.highest, found.images, found.same_shape) == (max(plain), 1, True)
    assert found.mean == pytest.approx(sum(plain) / len(plain))


def test_all_pairs_of_values_are_told_apart() -> None:
    one = bytes(left for left in range(256) for _ in range(256))
    other = bytes(range(256)) * 256
    found = compare_pictures((picture(one),), (picture(other),))
    assert found.mean == pytest.approx((256 * 256 - 1) / (3 * 256))
    assert found.highest == 255


def test_several_pictures_count_by_their_pixels() -> None:
    small, large = picture(bytes(10)), picture(bytes(30))
    found = compare_pictures((small, large), (picture(bytes([4] * 10)), large))
    assert (found.mean, found.highest, found.images) == (1.0, 4, 2)


def test_pictures_of_another_shape_are_not_compared() -> None:
    found = compare_pictures((picture(bytes(12), (2, 2, 3)),), (picture(bytes(12), (1, 4, 3)),))
    assert (found.same_shape, found.images) == (False, 1)


def test_bytes_that_do_not_fill_the_shape_are_not_compared() -> None:
    assert not compare_pictures((picture(bytes(12), (2, 2, 3)),), (picture(bytes(9), (2, 2, 3)),)).same_shape


def test_another_number_of_pictures_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compare_pictures((picture(b"1"), picture(b"2")), (picture(b"1"),))


def test_no_pictures_are_no_difference() -> None:
    assert compare_pictures((), ()).mean == 0.0
