"""Pixel differences between two stacks, operation by operation."""

import zipfile
from pathlib import Path

import pytest

from fastinstall.core.errors import UndeterminedError
from fastinstall.proof.cases import CaseDifference
from fastinstall.proof.judge import compare_pixels


def _compare(tmp_path: Path, ours: dict[str, bytes], reference: dict[str, bytes]) -> tuple[CaseDifference, ...]:
    for name, members in (("ours", ours), ("reference", reference)):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, samples in members.items():
                archive.writestr(member, samples)
    return compare_pixels(tmp_path / "ours", tmp_path / "reference")


def test_equal_pixels_do_not_differ(tmp_path: Path) -> None:
    (found,) = _compare(tmp_path, {"png-round-trip/RGB": b"abc"}, {"png-round-trip/RGB": b"abc"})
    assert (found.operation, found.largest, found.is_tolerable) == ("png-round-trip", 0.0, True)


def test_the_largest_difference_counts_in_both_directions(tmp_path: Path) -> None:
    (found,) = _compare(tmp_path, {"convert/L": bytes([10, 20, 30])}, {"convert/L": bytes([11, 27, 28])})
    assert (found.largest, found.is_tolerable) == (7.0, False)


def test_rounding_is_tolerated_but_not_where_nothing_may_change(tmp_path: Path) -> None:
    ours = {"filter-3x3-L/L": b"\x01", "png-round-trip/L": b"\x01"}
    reference = {"filter-3x3-L/L": b"\x02", "png-round-trip/L": b"\x02"}
    filtered, stored = _compare(tmp_path, ours, reference)
    assert filtered.is_tolerable
    assert not stored.is_tolerable


def test_a_colour_that_nobody_sees_counts_by_its_alpha(tmp_path: Path) -> None:
    ours, reference = bytes([100, 0, 0, 10]), bytes([151, 0, 0, 10])
    (found,) = _compare(tmp_path, {"resize-box-RGBA/RGBA": ours}, {"resize-box-RGBA/RGBA": reference})
    assert found.largest == pytest.approx(51 * 10 / 255)
    assert found.is_tolerable


def test_a_difference_of_alpha_itself_counts_fully(tmp_path: Path) -> None:
    ours, reference = bytes([0, 0, 0, 10]), bytes([0, 0, 0, 20])
    (found,) = _compare(tmp_path, {"resize-box-RGBA/RGBA": ours}, {"resize-box-RGBA/RGBA": reference})
    assert (found.largest, found.is_tolerable) == (10.0, False)


def test_swapped_channels_are_never_tolerable(tmp_path: Path) -> None:
    ours, reference = bytes([200, 10, 0, 255] * 4), bytes([0, 10, 200, 255] * 4)
    (found,) = _compare(tmp_path, {"resize-box-RGBA/RGBA": ours}, {"resize-box-RGBA/RGBA": reference})
    assert (found.largest, found.is_tolerable) == (200.0, False)


@pytest.mark.parametrize("ours", [{}, {"convert/RGB": b"abc"}, {"convert/L": b"abcd"}])
def test_what_cannot_be_compared_is_a_problem(tmp_path: Path, ours: dict[str, bytes]) -> None:
    (found,) = _compare(tmp_path, ours, {"convert/L": b"abc"})
    assert found.problem
    assert not found.is_tolerable


def test_what_only_ours_can_do_is_left_out(tmp_path: Path) -> None:
    assert _compare(tmp_path, {"webp-round-trip/RGB": b"abc"}, {}) == ()


def test_a_missing_or_damaged_file_cannot_be_determined(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(b"PK")
    for name in ("missing", "damaged"):
        with pytest.raises(UndeterminedError, match=name):
            compare_pixels(tmp_path / name, tmp_path / name)
