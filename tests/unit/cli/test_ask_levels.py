from collections.abc import Mapping

import pytest
from builders import recipe

from fastinstall.cli.ask_levels import ask_levels
from fastinstall.model.wish import Wish


class Person:
    """Stands in for somebody at a terminal: takes what is marked first, or gives the answers that it was made with."""

    def __init__(self, chosen: str | None = None, typed: str | None = None) -> None:
        self._chosen = chosen
        self._typed = typed

    def confirmed(self, question: str, *, default: bool = True) -> bool:
        raise AssertionError(f"not to be asked: {question} ({default})")

    def chosen(self, question: str, answers: Mapping[str, str], *, default: str | None = None) -> str:
        answer = self._chosen or default or ""
        assert answer in answers, question
        return answer

    def typed(self, question: str, *, default: str = "") -> str:
        return self._typed or default or question


@pytest.mark.parametrize(
    ("person", "wish", "asked"),
    [
        (Person(), Wish(), ("auto", ())),
        (Person(), Wish(level="x86-64-v2"), ("x86-64-v2", ())),
        (Person(), Wish(level="of another recipe"), ("auto", ())),
        (Person(), Wish(levels=("x86-64-v2", "x86-64-v4")), ("auto", ("x86-64-v2", "x86-64-v4"))),
        (Person("x86-64-v3"), Wish(levels=("x86-64-v2", "x86-64-v4")), ("x86-64-v3", ())),
        (Person("several"), Wish(), ("auto", ("x86-64-v2", "x86-64-v3"))),
        (Person("several", "x86-64-v3, x86-64-v4"), Wish(), ("auto", ("x86-64-v3", "x86-64-v4"))),
    ],
)
def test_one_level_or_several_are_asked_for(person: Person, wish: Wish, asked: tuple[str, tuple[str, ...]]) -> None:
    assert ask_levels(person, recipe(), wish) == asked
