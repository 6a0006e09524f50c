"""Comparing two locks: whether the second one has an older version of a package than the first."""

import pytest

from fastinstall.pins.pin_project import Locked, find_downgrades, parse_locked_versions

LOCK = """\
version = 1

[[package]]
name = "numpy"
version = "2.4.6"

[package.extras]
more = ["pillow"]

[[package]]
name = "Pillow"
version = "13.0.0"
dependencies = ["numpy"]

[[package]]
name = "numpy"
version = "2.5.5"

[[package]]
name = "gallery"
source = { virtual = "." }

[metadata]
lock-version = "2.1"
"""


def _locked(**versions: str) -> Locked:
    return {name: frozenset(listed.split()) for name, listed in versions.items()}


def test_a_lock_is_read_by_names_and_versions() -> None:
    assert parse_locked_versions(LOCK) == _locked(numpy="2.4.6 2.5.5", pillow="13.0.0")


@pytest.mark.parametrize("value", ["5", "true", "[]", "[5]", "[[]]", "{}", "{a = []}", '"text"', "1979-05-27"])
def test_entries_of_another_form_are_left_out(value: str) -> None:
    for entry in (value, f'[{value}, {{name = {value}, version = "1"}}]', f'[{{name = "a", version = [{value}]}}]'):
        assert parse_locked_versions(f"package = {entry}").keys() <= {"text"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1.0", "1.0"),
        ("1.0", "2.0"),
        ("1.9", "1.10"),
        ("1.0 2.0", "2.0"),
        ("1.0 2.0", "1.0 3.0"),
        ("1.0", "1.0 2.0"),
    ],
)
def test_what_stays_or_goes_ahead_is_no_step_back(before: str, after: str) -> None:
    assert find_downgrades(_locked(a=before), _locked(a=after), but="pillow") == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2.0", "1.0"),
        ("1.10", "1.9"),
        ("1.0 2.0", "1.0"),
        ("1.0 3.0", "1.0 2.0 3.0"),
        ("2.0.post1", "2.0"),
    ],
)
def test_an_older_version_anywhere_is_a_step_back(before: str, after: str) -> None:
    found = find_downgrades(_locked(a=before, b="1"), _locked(a=after, b="1"), but="pillow")

    assert found == {"a": f"{', '.join(before.split())} -> {', '.join(after.split())}"}


def test_the_pinned_one_may_go_back_and_others_may_come_and_go() -> None:
    assert find_downgrades(_locked(pillow="13.0.1", a="1"), _locked(pillow="13.0.0", b="1"), but="pillow") == {}
