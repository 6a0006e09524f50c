"""Answers of the wizard are kept for one target and this user, without risks and without secrets."""

import json
import stat
from dataclasses import replace
from pathlib import Path, PurePath

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.values.sessions import a_session

from fastinstall.cli.wizard import answers
from fastinstall.cli.wizard.answers import Answers
from fastinstall.model.request import Request, Risk

BEFORE = Request(jobs=2)
AFTER = Request(jobs=2, level="x86-64-v2", allow=(Risk.VULNERABLE,))


def _answers(target: Path) -> Answers:
    return Answers(target=target, before=BEFORE, after=AFTER, kept_at="2026-11-22T10:00:00+00:00")


def test_they_come_back_for_their_target_alone_and_accepted_risks_do_not(tmp_path: Path) -> None:
    session, target = a_session(tmp_path), tmp_path / "env"
    answers.keep(session, _answers(target))
    [file] = (session.directories.state / answers.DIRECTORY).iterdir()
    jsonschema.validate(json.loads(file.read_text()), SCHEMAS["answers"]())
    assert answers.read_kept_answers(session, target) == replace(_answers(target), after=replace(AFTER, allow=()))
    assert answers.read_kept_answers(session, tmp_path / "other") is None
    answers.forget_answers(session, target)
    answers.forget_answers(session, target)
    assert answers.read_kept_answers(session, target) is None


def test_they_are_for_this_user_alone_and_of_many_targets_the_oldest_go(tmp_path: Path) -> None:
    session = a_session(tmp_path)
    for number in range(25):
        answers.keep(session, _answers(tmp_path / str(number)))
    directory = session.directories.state / answers.DIRECTORY
    modes = {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert len(list(directory.iterdir())) == 20


def test_what_bears_a_secret_is_not_kept(tmp_path: Path) -> None:
    session = a_session(tmp_path, PIP_INDEX_URL="https://me:abcdefgh12345678@host/simple")
    answers.keep(session, replace(_answers(tmp_path), after=Request(wheelhouse=PurePath("/srv/abcdefgh12345678"))))
    assert answers.read_kept_answers(session, tmp_path) is None


def test_going_on_changes_what_was_answered_and_leaves_what_is_asked_for_today() -> None:
    today = Request(jobs=8, offline=True)
    assert answers.apply_kept_answers(_answers(Path("/env")), today) == replace(
        today, level="x86-64-v2", allow=(Risk.VULNERABLE,)
    )


@pytest.mark.parametrize(
    "content", ["", "[]", '{"schema": "fastinstall.answers/2"}', '{"schema": "fastinstall.answers/1"}']
)
def test_a_file_of_another_version_is_passed_over(tmp_path: Path, content: str) -> None:
    session = a_session(tmp_path)
    answers.keep(session, _answers(tmp_path))
    [file] = (session.directories.state / answers.DIRECTORY).iterdir()
    file.write_text(content)
    assert answers.read_kept_answers(session, tmp_path) is None
