"""Diffs that `git apply` accepts: line ends, files created and deleted, and empty diffs."""

import doctest

import pytest

from fastinstall.pins import pin_project
from fastinstall.pins.pin_project import format_diff


def test_the_example_in_its_docstring_is_true() -> None:
    assert doctest.testmod(pin_project).attempted == 1
    assert doctest.testmod(pin_project).failed == 0


@pytest.mark.parametrize("content", [None, b"", b"a\n"])
def test_nothing_that_differs_gives_nothing(content: bytes | None) -> None:
    assert format_diff("a", content, content) == ""


def test_a_last_line_without_an_end_is_marked() -> None:
    removed, mark, added = format_diff("a", b"x", b"x\n").splitlines()[3:]
    assert (removed, mark[0], added) == ("-x", "\\", "+x")


def test_only_a_line_feed_ends_a_line() -> None:
    assert "+one\r\n+two\x0c\u2028three\n" in format_diff("a", b"", "one\r\ntwo\x0c\u2028three\n".encode())


def test_a_file_that_goes_leads_nowhere() -> None:
    assert format_diff("a", b"x\n", None).startswith("--- a/a\n+++ /dev/null\n")
