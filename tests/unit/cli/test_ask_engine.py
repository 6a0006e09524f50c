import pytest
from support.terminal.answers import AskedPerson
from support.values.builders import changed, conda_facts, stock_facts

from fastinstall.cli.wizard.choices import ask_engine
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request


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
def test_only_what_is_there_is_offered_and_the_way_back(seen: Facts, offered: list[str]) -> None:
    person = AskedPerson()
    assert ask_engine(person, seen, Request()) == offered[0]
    assert list(person.offered) == [*offered, "back"]
    assert ask_engine(AskedPerson("back"), seen, Request()) is None


def test_what_was_wished_for_is_marked_first() -> None:
    assert (
        ask_engine(AskedPerson(), facts(conda=True, rattler=True), Request(engine=CondaInstaller.PIP))
        is CondaInstaller.PIP
    )


def test_the_wheel_is_offered_with_its_weakness() -> None:
    person = AskedPerson("rattler")
    assert ask_engine(person, facts(conda=True, rattler=True), Request()) is CondaInstaller.RATTLER
    assert "conda overwrites" in person.meanings["pip"]


def test_nobody_is_asked_where_conda_manages_nothing() -> None:
    person = AskedPerson("never given")
    assert ask_engine(person, stock_facts(), Request()) is CondaInstaller.AUTO
    assert person.questions == []
