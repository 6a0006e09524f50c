from collections.abc import Mapping

import pytest
from builders import changed, conda_facts, stock_facts

from fastinstall.cli.ask_engine import ask_engine
from fastinstall.model.conda import Engine
from fastinstall.model.facts import Facts
from fastinstall.model.wish import Wish


class Person:
    """Stands in for somebody at a terminal: gives one answer, or takes what is marked first."""

    def __init__(self, answer: str = "") -> None:
        self._answer = answer
        self.offered: Mapping[str, str] = {}

    def confirmed(self, question: str, *, default: bool = True) -> bool:
        raise AssertionError(f"not to be asked: {question} ({default})")

    def chosen(self, question: str, answers: Mapping[str, str], *, default: str | None = None) -> str:
        assert question == "Who installs it?"
        self.offered = answers
        return self._answer or default or next(iter(answers))

    def typed(self, question: str, *, default: str = "") -> str:
        raise AssertionError(f"not to be asked: {question} ({default})")


def facts(*, conda: bool, rattler: bool) -> Facts:
    changes: dict[str, object] = {"toolchain": {"rattler": rattler}}
    return changed(conda_facts(), changes if conda else {**changes, "conda": {"tool": None}})


@pytest.mark.parametrize(
    ("seen", "offered"),
    [
        (facts(conda=True, rattler=True), ["auto", "conda", "rattler", "pip"]),
        (facts(conda=True, rattler=False), ["auto", "conda", "pip"]),
        (facts(conda=False, rattler=True), ["auto", "rattler", "pip"]),
        (facts(conda=False, rattler=False), ["pip"]),
    ],
)
def test_only_what_is_there_is_offered(seen: Facts, offered: list[str]) -> None:
    person = Person()
    assert ask_engine(person, seen, Wish()) == offered[0]
    assert list(person.offered) == offered


def test_what_was_wished_for_is_marked_first() -> None:
    assert ask_engine(Person(), facts(conda=True, rattler=True), Wish(engine=Engine.PIP)) is Engine.PIP


def test_the_wheel_is_offered_with_its_weakness() -> None:
    person = Person("rattler")
    assert ask_engine(person, facts(conda=True, rattler=True), Wish()) is Engine.RATTLER
    assert "conda overwrites" in person.offered["pip"]


def test_nobody_is_asked_where_conda_manages_nothing() -> None:
    person = Person("never given")
    assert ask_engine(person, stock_facts(), Wish()) is Engine.AUTO
    assert person.offered == {}
