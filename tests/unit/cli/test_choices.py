"""Multiple-choice questions of the wizard, and what each answer means."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.terminal.answers import AskedPerson
from support.values.builders import changed, conda_facts
from support.values.sessions import a_session

from fastinstall.cli.console import Console
from fastinstall.cli.wizard.choices import WizardConversation, ask_engine, ask_levels
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.session import Session


def facts(*, conda: bool, rattler: bool) -> Facts:
    changes: dict[str, object] = {"toolchain": {"rattler": rattler}}
    return changed(conda_facts(), changes if conda else {**changes, "conda": {"tool": None}})


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return a_session(tmp_path)


def _talk_to(person: AskedPerson, session: Session, seen: Facts) -> WizardConversation:
    target = NamedTarget(prefix=Path(seen.environment.prefix))
    return WizardConversation(session=session, target=target, facts=seen, asker=person, console=Console(quiet=True))


def _ask_engine(session: Session, seen: Facts, person: AskedPerson, before: CondaInstaller) -> CondaInstaller | None:
    chosen = ask_engine(_talk_to(person, session, seen), Request(engine=before))
    return None if chosen is None else chosen.engine


@pytest.mark.parametrize(
    ("seen", "offered"),
    [
        (facts(conda=True, rattler=True), ["auto", "conda", "rattler", "pip"]),
        (facts(conda=True, rattler=False), ["auto", "conda", "pip"]),
        (facts(conda=False, rattler=True), ["auto", "rattler", "pip"]),
        (facts(conda=False, rattler=False), ["pip"]),
    ],
)
def test_only_what_is_there_is_offered_and_the_way_back(session: Session, seen: Facts, offered: list[str]) -> None:
    person = AskedPerson()
    assert _ask_engine(session, seen, person, CondaInstaller.AUTO) == offered[0]
    assert list(person.offered) == [*offered, "back"]
    assert _ask_engine(session, seen, AskedPerson("back"), CondaInstaller.AUTO) is None


def test_what_was_wished_for_is_marked_first(session: Session) -> None:
    seen = facts(conda=True, rattler=True)
    assert _ask_engine(session, seen, AskedPerson(), CondaInstaller.PIP) is CondaInstaller.PIP


def test_the_wheel_is_offered_with_its_weakness(session: Session) -> None:
    person = AskedPerson("rattler")
    seen = facts(conda=True, rattler=True)
    assert _ask_engine(session, seen, person, CondaInstaller.AUTO) is CondaInstaller.RATTLER
    assert "conda may silently overwrite" in person.meanings["pip"]


@pytest.mark.parametrize(
    ("answers", "before", "asked"),
    [
        ((), Request(), ("auto", ())),
        ((), Request(level="x86-64-v2"), ("x86-64-v2", ())),
        ((), Request(level="of another recipe"), ("auto", ())),
        ((), Request(levels=("x86-64-v2", "x86-64-v4")), ("auto", ("x86-64-v2", "x86-64-v4"))),
        (("x86-64-v3",), Request(levels=("x86-64-v2", "x86-64-v4")), ("x86-64-v3", ())),
        (("several",), Request(), ("auto", ("x86-64-v2", "x86-64-v3"))),
        (("several", "x86-64-v3, x86-64-v4"), Request(), ("auto", ("x86-64-v3", "x86-64-v4"))),
        (("back",), Request(), None),
        (("several", "back"), Request(), None),
    ],
)
def test_one_level_or_several_are_asked_for(
    session: Session, answers: tuple[str, ...], before: Request, asked: tuple[str, tuple[str, ...]] | None
) -> None:
    chosen = ask_levels(_talk_to(AskedPerson(*answers), session, conda_facts()), before)
    assert chosen == (None if asked is None else replace(before, level=asked[0], levels=asked[1]))


def test_every_answer_says_what_it_means(session: Session) -> None:
    person = AskedPerson()
    ask_levels(_talk_to(person, session, conda_facts()), Request())
    assert set(person.meanings) == set(person.offered) - {"back"}
    assert "resizes slower" in person.meanings["x86-64-v4"]


def test_a_machine_with_one_level_is_not_asked_for_several(session: Session) -> None:
    person, arm = AskedPerson(), changed(conda_facts(), {"cpu": {"architecture": "aarch64"}})
    assert ask_levels(_talk_to(person, session, arm), Request()) == Request()
    assert set(person.meanings) == {"auto", "armv8-a"}
    assert "not measured" in person.meanings["armv8-a"]
