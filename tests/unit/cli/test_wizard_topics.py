"""Every setting that has a flag can be changed in the wizard, and every change can be undone there."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.terminal.answers import AskedPerson
from support.values.builders import conda_facts, stock_facts
from support.values.sessions import a_session

from fastinstall.cli.console import Console
from fastinstall.cli.options import REQUEST_OPTIONS
from fastinstall.cli.wizard.choices import (
    CONTINUE,
    WizardConversation,
    ask_option,
    customise_request,
    describe_value,
    list_asked_options,
)
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.request import LinkMode, Request, ToolchainSource
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.recipes import recipe_named

BY_FIELD = {option.field: option for option in REQUEST_OPTIONS if option.question.title}
BY_FIELD["levels"] = BY_FIELD["level"]
HERE = str(Path(__file__).parent)
OTHERS: dict[str, tuple[tuple[str, ...], object]] = {
    "recipe": (("pillow",), "pillow"),
    "version": (("12.2.0",), "12.2.0"),
    "level": (("x86-64-v2",), "x86-64-v2"),
    "levels": (("several", "x86-64-v2,x86-64-v4"), ("x86-64-v2", "x86-64-v4")),
    "require": (("jpeg, nonsense", "jpeg, webp"), ("jpeg", "webp")),
    "link": (("system",), LinkMode.SYSTEM),
    "dist_name": (("pillow-simd",), "pillow-simd"),
    "jobs": (("none", "0", "3"), 3),
    "offline": (("yes",), True),
    "wheelhouse": (("/nowhere/at/all", HERE), Path(HERE)),
    "with_system_deps": (("yes",), True),
    "toolchain": (("conda",), ToolchainSource.CONDA),
    "engine": (("pip",), CondaInstaller.PIP),
    "channels": (("https://user:word@host/channel", "conda-forge, mine"), ("conda-forge", "mine")),
    "guard": (("no",), False),
    "pin": (("yes",), True),
    "upgrade": (("yes",), True),
}


@pytest.fixture
def talk(tmp_path: Path) -> WizardConversation:
    return WizardConversation(
        session=a_session(tmp_path),
        target=NamedTarget(prefix=tmp_path),
        facts=conda_facts(),
        asker=AskedPerson(),
        console=Console(quiet=True),
    )


def _asking(talk: WizardConversation, *answers: str) -> WizardConversation:
    return replace(talk, asker=AskedPerson(*answers))


def test_every_request_with_a_flag_is_customisable_except_risks() -> None:
    assert sorted((*BY_FIELD, "allow")) == sorted(option.field for option in REQUEST_OPTIONS)
    assert sorted(OTHERS) == sorted(BY_FIELD), "each has a case below"


@pytest.mark.parametrize("field", OTHERS)
def test_each_takes_another_value_and_tells_it(talk: WizardConversation, field: str) -> None:
    answers, value = OTHERS[field]
    option = BY_FIELD[field]
    request = ask_option(option, _asking(talk, *answers), Request())
    assert request is not None
    assert getattr(request, field) == value
    assert describe_value(option, request) != describe_value(option, Request())


@pytest.mark.parametrize("field", OTHERS)
def test_each_can_be_taken_back(talk: WizardConversation, field: str) -> None:
    assert ask_option(BY_FIELD[field], _asking(talk, "back"), Request(version="1", jobs=2)) is None


@pytest.mark.parametrize("field", ["version", "jobs", "wheelhouse", "require", "channels"])
def test_what_is_typed_can_be_made_nothing_again(talk: WizardConversation, field: str) -> None:
    before = Request(version="12.2.0", jobs=2, wheelhouse=Path(HERE), require=("jpeg",), channels=("mine",))
    request = ask_option(BY_FIELD[field], _asking(talk, "-"), before)
    assert request is not None
    assert getattr(request, field) == getattr(Request(), field)


def test_another_recipe_drops_the_earlier_version_and_levels(talk: WizardConversation) -> None:
    request = ask_option(BY_FIELD["recipe"], _asking(talk, "pillow"), Request(version="1", levels=("x86-64-v2",)))
    assert request == Request(recipe="pillow")


def test_recipes_are_offered_with_the_recommended_one_first(talk: WizardConversation) -> None:
    person = AskedPerson()
    assert ask_option(BY_FIELD["recipe"], replace(talk, asker=person), Request(recipe="pillow-fast")) is not None
    first, *_ = person.offered
    assert first == "pillow-fast"
    assert {name: recipe_named(talk.session, name).summary for name in person.meanings} == person.meanings


def test_conda_options_are_asked_only_in_conda_environments() -> None:
    asked = {option.field for option in list_asked_options(conda_facts())}
    assert asked - {option.field for option in list_asked_options(stock_facts())} == {"engine", "channels"}


def _customise(talk: WizardConversation) -> Request | str:
    return customise_request(talk, Request(), lambda: talk.console.talk("[details]"))


def test_one_thing_is_changed_at_a_time(talk: WizardConversation) -> None:
    asked = _asking(talk, "pin", "yes", "jobs", "back", "jobs", "3", CONTINUE)
    assert _customise(asked) == Request(pin=True, jobs=3)


@pytest.mark.parametrize("way", ["start over", "environment"])
def test_all_can_be_dropped_to_restart_or_switch_environment(talk: WizardConversation, way: str) -> None:
    assert _customise(_asking(talk, "pin", "yes", way)) == way


def test_the_details_are_those_of_the_plan_that_was_made(
    talk: WizardConversation, capsys: pytest.CaptureFixture[str]
) -> None:
    person = AskedPerson("details", "jobs", "3", CONTINUE)
    asked = replace(talk, asker=person, console=Console())
    assert _customise(asked) == Request(jobs=3)
    assert "details" not in person.offered
    told = capsys.readouterr().err
    assert told.startswith("[details]")
    assert f"as flags: fastinstall setup --prefix {talk.facts.environment.prefix} --jobs 3" in told
