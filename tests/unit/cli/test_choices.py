"""Questions of the wizard whose answers are a few values, and what each of them means."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.suite.golden import Golden
from support.terminal.answers import AskedPerson
from support.values.builders import advisory, changed, conda_facts, recipe
from support.values.sessions import a_session

from fastinstall.cli.console import Console
from fastinstall.cli.wizard.choices import (
    WizardConversation,
    ask_engine,
    ask_levels,
    offer_answers,
    offer_meanings,
)
from fastinstall.model.advisories import Severity
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.recipe import Level, Recipe
from fastinstall.model.request import Request
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.session import Session
from fastinstall.setup.decide.versions import VersionChoice
from fastinstall.verbs.recipe_comparison import RecipePreview


def facts(*, conda: bool, rattler: bool) -> Facts:
    changes: dict[str, object] = {"toolchain": {"rattler": rattler}}
    return changed(conda_facts(), changes if conda else {**changes, "conda": {"tool": None}})


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return a_session(tmp_path)


def _ask_engine(session: Session, seen: Facts, person: AskedPerson, before: CondaInstaller) -> CondaInstaller | None:
    target = NamedTarget(prefix=Path(seen.environment.prefix))
    talk = WizardConversation(session=session, target=target, facts=seen, asker=person, console=Console(quiet=True))
    chosen = ask_engine(talk, Request(engine=before))
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
    assert "conda overwrites" in person.meanings["pip"]


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
    answers: tuple[str, ...], before: Request, asked: tuple[str, tuple[str, ...]] | None
) -> None:
    chosen = ask_levels(AskedPerson(*answers), recipe().levels, before)
    assert chosen == (None if asked is None else replace(before, level=asked[0], levels=asked[1]))


def test_every_answer_says_what_it_means() -> None:
    person = AskedPerson()
    ask_levels(person, recipe().levels, Request())
    assert set(person.meanings) == set(person.offered) - {"back"}
    assert "resizes slower" in person.meanings["x86-64-v4"]


def test_a_machine_with_one_level_is_not_asked_for_several() -> None:
    person = AskedPerson()
    level = Level(name="armv8-a", architecture="aarch64", requires=("fp", "asimd"), cflags=("-march=armv8-a",))
    assert ask_levels(person, (level,), Request()) == Request()
    assert set(person.meanings) == {"auto", "armv8-a"}
    assert "not measured" in person.meanings["armv8-a"]


@pytest.mark.parametrize(("machine", "told"), [("x86_64", "measured elsewhere: 2.07"), ("aarch64", "not measured")])
def test_a_figure_is_of_the_architecture_that_it_was_measured_on(machine: str, told: str) -> None:
    meaning = offer_meanings((_offer(FAST, "13.0.0"),), machine)["pillow-fast"]
    assert told in meaning
    assert ("2.07" in meaning) is (machine == "x86_64")


FIGURE = "2.07 times as fast as stock Pillow 13.0.0 (2026-11-21)"
FORK = changed(recipe(), {"bench": {"measured": FIGURE}})
KERNELS = [{"name": "turn", "file": "a.c", "functions": ["f"], "operations": ["turn"], "reason": "measured"}]
FAST = changed(FORK, {"name": "pillow-fast", "summary": "both", "kernels": KERNELS, "recommended": True})
STOCK = changed(FORK, {"name": "pillow", "summary": "stock", "expect": {"symbols": []}, "bench": {"measured": ""}})
SPEED = SpeedTable(
    baseline="pillow 13.0.0 (wheel)",
    candidate="pillow 13.0.0+simd.v2.v3",
    cpu="AMD EPYC",
    measured_at="2026-11-21T10:00:00+00:00",
    geomean=2.29,
    rows=(),
)


def _offer(used: Recipe, version: str) -> RecipePreview:
    return RecipePreview(
        recipe=used, choice=VersionChoice(version=version, source=None, base_wheel=None, reason="a test")
    )


def test_recipes_are_listed_with_version_advisories_and_speed(golden: Golden) -> None:
    known = (advisory("CVE-1", "<13", Severity.CRITICAL), advisory("CVE-2", "<13"), advisory("CVE-3", "<13"))
    offers = (
        replace(_offer(FAST, "13.0.0"), speed=SPEED),
        replace(_offer(FORK, "12.1.1.post0"), advisories=known, speed=SPEED),
        _offer(STOCK, "13.0.0"),
    )
    assert offer_answers(offers) == {
        "pillow-fast": "pillow-fast (recommended)",
        "pillow-simd": "pillow-simd",
        "pillow": "pillow",
    }
    meanings = offer_meanings(offers, "x86_64")
    assert list(meanings) == ["pillow-fast", "pillow-simd", "pillow"]
    golden("\n".join(meanings.values()))


@pytest.mark.parametrize("other", [None, replace(SPEED, baseline="pillow 12.3.0 (in place)")])
def test_figures_of_two_machines_or_two_pillows_are_not_compared(other: SpeedTable | None) -> None:
    offers = (replace(_offer(FAST, "13.0.0"), speed=SPEED), replace(_offer(FORK, "12.1.1.post0"), speed=other))
    meanings = offer_meanings(offers, "x86_64")
    assert [name for name, text in meanings.items() if f"measured elsewhere: {FIGURE}" in text] == list(meanings)
    assert not any("measured here" in text for text in meanings.values())


@pytest.mark.parametrize("used", [FAST, FORK])
def test_a_recipe_that_does_not_fit_says_why(used: Recipe) -> None:
    offer = RecipePreview(recipe=used, choice=None, problem="the environment does not allow it")
    told = offer_meanings((offer,), "x86_64")[used.name].split("; ")
    assert [part.removeprefix("nothing fits: ") for part in told if part.endswith(offer.problem)] == [offer.problem]
