"""The question which environment to change; the answers come from the test, not from a terminal."""

from pathlib import Path

import pytest
from support.environments.handwritten import venv_by_hand
from support.terminal.answers import AskedPerson
from support.values.sessions import a_session

from fastinstall.cli.console import Console
from fastinstall.cli.wizard.environments import choose_environment, is_left_open
from fastinstall.core.errors import DeclinedError, RefusedError
from fastinstall.observe.environments import NamedTarget


def _choose(
    home: Path, person: AskedPerson, directory: str = "work", refused: Path | None = None, **variables: str
) -> NamedTarget:
    return choose_environment(a_session(home, **variables), person, Console(quiet=True), home / directory, refused)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    venv_by_hand(tmp_path / "work" / "env", "3.12.1", "pillow-13.0.0")
    return tmp_path / "work"


def test_an_environment_is_offered_by_short_name_and_contents(work: Path) -> None:
    person = AskedPerson(str(work / "env"))
    assert _choose(work.parent, person) == NamedTarget(prefix=work / "env")
    assert list(person.offered.values()) == ["./fast-env", "./env", "Other", "Cancel"]
    assert person.meanings[str(work / "env")] == "Python 3.12.1, pillow 13.0.0"
    (question,) = person.questions
    assert "No environment is active" in question


def test_usual_names_come_first_and_existing_ones_are_not_remade(work: Path) -> None:
    for name in ("another", "venv", ".venv", "fast-env"):
        venv_by_hand(work / name, "3.12.1")
    person = AskedPerson()
    assert _choose(work.parent, person) == NamedTarget(prefix=work / "fast-env")
    offered = ["./fast-env", "./.venv", "./venv", "./env", "./another", "Other", "Cancel"]
    assert list(person.offered.values()) == offered
    assert person.meanings[str(work / "fast-env")] == "Python 3.12.1, no Pillow"


def test_enter_alone_never_takes_an_environment_nobody_named(work: Path) -> None:
    elsewhere = venv_by_hand(work.parent / "other-project" / "env", "3.12.1", "pillow-13.0.0")
    listed = work.parent / ".conda" / "environments.txt"
    listed.parent.mkdir()
    listed.write_text(f"{elsewhere}\n", encoding="utf-8")
    empty, person = work.parent / "empty", AskedPerson()
    empty.mkdir()
    assert _choose(work.parent, person, "empty") == NamedTarget(new=empty / "fast-env")
    assert str(elsewhere) in person.offered
    (empty / "fast-env").write_text("a file")
    assert _choose(work.parent, person, "empty") == NamedTarget(new=empty / "fast-env-2")
    refused = venv_by_hand(work / "fast-env", "3.12.1")
    assert _choose(work.parent, AskedPerson(), refused=refused) == NamedTarget(new=work / "fast-env-2")


def test_an_environment_is_made_at_the_usual_place_or_a_free_one(work: Path) -> None:
    made = _choose(work.parent, AskedPerson(str(work / "fast-env")))
    assert made == NamedTarget(new=work / "fast-env")
    person = AskedPerson("other", "back", "other", "env", "./fresh")
    assert _choose(work.parent, person) == NamedTarget(new=work / "fresh")


def test_an_environment_can_be_named_by_its_directory(work: Path) -> None:
    (work / "env" / "bin").mkdir()
    (work / "env" / "bin" / "python").symlink_to("/nowhere/python3")
    assert _choose(work.parent, AskedPerson("other", "", "other", "env")) == NamedTarget(prefix=work / "env")


def test_cancel_is_a_refusal(work: Path) -> None:
    with pytest.raises(DeclinedError, match="cancelled; nothing was changed"):
        _choose(work.parent, AskedPerson("cancel"))


def test_nobody_is_asked_where_one_is_named_or_active(work: Path) -> None:
    active = a_session(work.parent, VIRTUAL_ENV=str(work / "env"))
    assert not is_left_open(NamedTarget(), active)
    assert not is_left_open(NamedTarget(), a_session(work.parent, VIRTUAL_ENV="/env", CONDA_PREFIX="/env"))
    assert not is_left_open(NamedTarget(new=work), a_session(work.parent))
    assert is_left_open(NamedTarget(), a_session(work.parent))
    assert is_left_open(NamedTarget(), a_session(work.parent, VIRTUAL_ENV="/env", CONDA_PREFIX="/other"))


def test_fastinstalls_own_environment_is_never_the_target(work: Path) -> None:
    tool = venv_by_hand(work.parent / "tool", "3.12.1", "pillow-13.0.0")
    person = AskedPerson("cancel")
    assert is_left_open(NamedTarget(), a_session(work.parent, VIRTUAL_ENV=str(tool)))
    with pytest.raises(RefusedError):
        _choose(work.parent, person, "", VIRTUAL_ENV=str(tool))
    (question,) = person.questions
    assert "fastinstall's own environment is active" in question
    assert str(tool) not in person.offered
