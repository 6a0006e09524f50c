import pytest
from support.values.builders import PREFIX

from fastinstall.core.messages import format_bytes
from fastinstall.model.history import MANY, MUCH, warn_about_held_bytes


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (45_056, "45.1 kB"),
        (22_548_480, "22.5 MB"),
        (999_999, "1000.0 kB"),
        (3 * 10**9, "3.0 GB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_bytes_are_told_in_the_unit_that_people_use(count: int, words: str) -> None:
    assert format_bytes(count) == words


def test_many_small_setups_and_few_large_ones_are_worth_a_word() -> None:
    names = tuple("abcdefgh")
    assert warn_about_held_bytes(names[:MANY], MUCH - 1, PREFIX) is None
    for setups, held in ((names[: MANY + 1], 0), (names[:2], MUCH)):
        sentence = warn_about_held_bytes(setups, held, PREFIX)
        assert sentence is not None
        assert f"{len(setups)} changes" in sentence
        assert f"fastinstall rollback --forget --prefix {PREFIX}" in sentence


def test_the_last_setup_is_never_too_much() -> None:
    assert warn_about_held_bytes(("a",), 10 * MUCH, PREFIX) is None
