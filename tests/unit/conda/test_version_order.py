from itertools import product

from fastinstall.conda.version_order import is_older

RISING = (
    "0.4",
    "0.4.1.dev0",
    "0.4.1.rc",
    "0.4.1",
    "0.5a1",
    "0.5b3",
    "0.5C1",
    "0.5",
    "0.9.6",
    "1.0.1_",
    "1.0.1a",
    "1.0.1b",
    "1.1dev1",
    "1.1a1",
    "1.1.0",
    "1.1.0+1",
    "1.1.0.post1",
    "1.1.1a",
    "1.1.1w",
    "1.2.11",
    "1.2.11_3",
    "9e",
    "9",
    "10",
    "2024a",
    "2024b",
    "1!0.1",
)


def test_versions_are_sorted_as_conda_sorts_them() -> None:
    for (first, one), (second, two) in product(enumerate(RISING), repeat=2):
        assert is_older(one, two) is (first < second), (one, two)


def test_versions_that_differ_by_trailing_zeros_or_case_are_the_same() -> None:
    for one, two in (("1.1", "1.1.0"), ("0.5c1", "0.5C1"), ("1-2", "1.2"), ("1_2", "1.2")):
        assert not is_older(one, two)
        assert not is_older(two, one)


def test_what_conda_would_not_take_is_compared_all_the_same() -> None:
    assert is_older("", "1")
    assert is_older("1..2", "1.3")
    assert not is_older("?", "?")


def test_py_rattler_sorts_them_likewise() -> None:
    from rattler import Version

    found = [Version(version) for version in RISING]
    assert found == sorted(found)
