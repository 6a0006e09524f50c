"""Simple version ranges are judged without the `packaging` library, with the same results."""

import itertools

import pytest
from packaging.specifiers import SpecifierSet

from fastinstall.core.directories import recipes_directory
from fastinstall.core.version_numbers import contains, is_final_release, is_specifier, is_version, list_leading_numbers
from fastinstall.observe.recipes import load_recipes

VERSIONS = (
    *("0", "1.0", "1.2.11", "2.13.0", "4.7", "10.2.9", "12.1.1", "12.1.1.0", "12.3.0", "13", "13.0.0", "13.0.1"),
    *("12.1.1.post0", "13.0.0rc1", "13.0.0.dev0", "12.1.1+simd.v3", "1!2.0", "013.0"),
)
SPECIFIERS = (
    "<13.0.0",
    "<=12.1.1",
    ">=10.3.0,<12.2.0",
    "==12.1.1",
    "!=12.1.1",
    ">12.1",
    "<13, >=12",
    "~=12.1",
    "==12.*",
)


def test_a_version_lies_in_a_range_where_packaging_says_so() -> None:
    for specifier, version in itertools.product(SPECIFIERS, VERSIONS):
        expected = SpecifierSet(specifier).contains(version, prereleases=True)
        assert contains(specifier, version) is expected, (specifier, version)


def test_every_shipped_advisory_is_judged_as_packaging_judges_it() -> None:
    recipes = load_recipes((recipes_directory(),)).values()
    ranges = {advisory.affects for recipe in recipes for advisory in recipe.advisories}
    assert len(ranges) > 20
    for specifier, version in itertools.product(ranges, VERSIONS):
        expected = SpecifierSet(specifier).contains(version, prereleases=True)
        assert contains(specifier, version) is expected, (specifier, version)


@pytest.mark.parametrize("text", ["", "<13.0.0", ">= 10, < 12", "~=1.2", "==12.*", "===anything"])
def test_what_packaging_takes_is_a_specifier(text: str) -> None:
    assert is_specifier(text)


@pytest.mark.parametrize("text", ["13.0.0", "<", "<13.0.0 >=2", "=<13", "<13.0.0;", "<thirteen"])
def test_what_packaging_refuses_is_none(text: str) -> None:
    assert not is_specifier(text)


def test_versions_are_told_from_other_words() -> None:
    assert all(is_version(version) for version in VERSIONS)
    assert not any(is_version(text) for text in ("1.3.1.zlib-ng", "", "unknown", "1.2.", ".1", "rc1"))
    assert all(is_version(version) for version in ("v1.0", "1.0-PREVIEW2", "1.0.rev3", "1.0c1", "1.0+zlib.ng"))


def test_only_a_release_in_its_normal_form_is_plain() -> None:
    assert is_final_release("12.1.1")
    assert is_final_release("0.10")
    assert not any(
        is_final_release(text) for text in ("12.1.1.post0", "013.0", "1!2.0", "v1", "1.", "\u0661", "12.1.1\n")
    )


def test_leading_numbers_compare_as_numbers() -> None:
    assert list_leading_numbers("550.120") > list_leading_numbers("550.54.15")
    assert list_leading_numbers("535.104.05") > list_leading_numbers("535.54.03")
    assert list_leading_numbers("2.10.0+cu128") == (2, 10, 0)
    assert list_leading_numbers("unknown") == ()
