"""Questions as lines of text: numbered answers, words, and no escape codes, whatever the answers contain."""

import io

import pytest
from support.suite.golden import Golden

from fastinstall.cli.console import Console, Page
from fastinstall.cli.questions import Lines, ask_text_or_go_back, choose_or_go_back

ANSWERS = {"a": "first", "b": "second"}


def _lines(monkeypatch: pytest.MonkeyPatch, typed: str, known: tuple[str, ...] = ()) -> Lines:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return Lines(Console(make_page=lambda _stream: Page(width=40), known=known))


def test_an_answer_is_a_number_and_anything_else_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    meanings = {"b": "a sentence that is too long for one line of 40 columns"}
    assert _lines(monkeypatch, "3\nsecond\n2\n").choose("Which?", ANSWERS, meanings=meanings) == "b"
    told = capsys.readouterr().err
    assert told.count("Which?") == 3
    golden(told)


def test_a_question_breaks_between_words_and_not_inside_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    lines = _lines(monkeypatch, "\n\n\n")
    lines.choose("Which of these two answers will it be at last?", {"a": "first"})
    lines.ask_text("Where should it go, if anywhere at all?", default="./here")
    lines.ask_text("Where should it go, if anywhere at all, or later?")
    golden(capsys.readouterr().err)


def test_enter_gives_what_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _lines(monkeypatch, "\n").choose("Which?", ANSWERS, default="b") == "b"
    assert _lines(monkeypatch, "\n").choose("Which?", ANSWERS) == "a"
    assert _lines(monkeypatch, "\n").ask_text("Where?", default="./here") == "./here"
    assert _lines(monkeypatch, "\n").confirm("Well?", default=False) is False
    assert _lines(monkeypatch, "what\nYES\n").confirm("Well?", default=False) is True


def test_the_end_of_the_input_interrupts_and_ends_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        _lines(monkeypatch, "").ask_text("Where?")
    assert capsys.readouterr().err == "Where? \n"


def test_ctrl_c_before_the_answer_is_awaited_ends_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.StringIO):
        def flush(self) -> None:
            if self.getvalue() == "Where? ":
                raise KeyboardInterrupt

    shown = Interrupted()
    monkeypatch.setattr("sys.stderr", shown)
    with pytest.raises(KeyboardInterrupt):
        _lines(monkeypatch, "").ask_text("Where?")
    assert shown.getvalue() == "Where? \n"


def test_each_answer_and_its_meaning_are_printed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    place = "/srv/images/of/a/project/with/a/long/name/env"
    meanings = {place: "Python 3.12.1, pillow 13.0.0", "other": "type a directory"}
    answers = {place: place, "other": "Other", "cancel": "Cancel"}
    assert _lines(monkeypatch, "1\n").choose("Which?", answers, meanings=meanings) == place
    golden(capsys.readouterr().err)


def test_no_secret_and_nothing_that_steers_a_terminal_gets_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _lines(monkeypatch, "1\n", ("hunter2hunter2",)).choose("Which?", {"a": "\x1b[2J hunter2hunter2"})
    assert capsys.readouterr().err.startswith("  1) \\u001b[2J ***\n")


def test_a_menu_and_a_text_can_be_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_or_go_back(_lines(monkeypatch, "3\n"), "Which?", ANSWERS) is None
    assert choose_or_go_back(_lines(monkeypatch, "2\n"), "Which?", ANSWERS) == "b"
    assert ask_text_or_go_back(_lines(monkeypatch, "back\n"), "Where?", str, print) is None


def test_an_invalid_text_is_explained_and_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []
    assert ask_text_or_go_back(_lines(monkeypatch, "x\n7\n"), "How many?", int, complaints.append, default="1") == "7"
    assert len(complaints) == 1
    assert ask_text_or_go_back(_lines(monkeypatch, "-\n"), "How many?", int, complaints.append, default="1") == ""
