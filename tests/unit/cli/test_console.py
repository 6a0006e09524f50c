import io
import os
import sys

import pytest

from fastinstall.cli.console import Console, Page, can_ask, is_dumb, page_for, wants_colour


class _Terminal(io.StringIO):
    """A stream that claims to be a terminal, and has no file descriptor to ask for its width."""

    def isatty(self) -> bool:
        return True


XTERM = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("variables", "refused", "stream", "colour"),
    [
        (XTERM, False, _Terminal(), True),
        (XTERM, False, io.StringIO(), False),
        (XTERM, True, _Terminal(), False),
        ({**XTERM, "NO_COLOR": "1"}, False, _Terminal(), False),
        ({**XTERM, "NO_COLOR": ""}, False, _Terminal(), True),
        ({"FORCE_COLOR": "1"}, False, io.StringIO(), True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, _Terminal(), False),
        ({"FORCE_COLOR": "1"}, True, _Terminal(), False),
        ({"TERM": "dumb"}, False, _Terminal(), False),
        ({}, False, _Terminal(), False),
    ],
)
def test_colour_is_for_capable_terminals_and_users_who_want_it(
    variables: dict[str, str], *, refused: bool, stream: io.StringIO, colour: bool
) -> None:
    assert wants_colour(variables, refused=refused, stream=stream) is colour


@pytest.mark.parametrize(("columns", "width"), [("120", 120), ("10", 40), ("", 80), ("0", 80), ("wide", 80)], ids=str)
def test_the_width_is_that_of_the_terminal_and_never_absurd(columns: str, width: int) -> None:
    assert page_for(_Terminal(), {"COLUMNS": columns}, colourless=False, verbose=False).width == width


def test_a_stream_that_is_no_terminal_has_no_width() -> None:
    assert page_for(io.StringIO(), {"COLUMNS": "80"}, colourless=False, verbose=True) == Page(verbose=True)


@pytest.mark.parametrize(("term", "dumb"), [("dumb", True), ("unknown", True), ("", True), ("xterm-256color", False)])
def test_a_terminal_that_knows_only_lines_is_told_by_its_name(term: str, *, dumb: bool) -> None:
    assert is_dumb({"TERM": term}) is dumb


@pytest.mark.parametrize(("asked", "dumb"), [("1", True), ("yes", True), ("0", False), ("no", False), ("", False)])
def test_a_screen_reader_gets_lines_by_a_variable(asked: str, *, dumb: bool) -> None:
    assert is_dumb({**XTERM, "FASTINSTALL_PLAIN": asked}) is dumb


def test_a_user_is_asked_only_at_a_terminal_and_never_in_ci() -> None:
    terminal, pipe = _Terminal(), io.StringIO()
    assert can_ask({}, terminal, terminal)
    assert not can_ask({"CI": "true"}, terminal, terminal)
    assert not can_ask({}, pipe, terminal)
    assert not can_ask({}, terminal, pipe)
    assert not can_ask({}, None, terminal)


def test_talk_goes_to_stderr_and_results_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.data("result")
    console.talk("talk\n")
    console.complain("error")
    assert capsys.readouterr() == ("result\n", "talk\nerror\n")


@pytest.mark.parametrize(("encoding", "written"), [("utf-8", "\\udcff ü\n"), ("ascii", "\\udcff \\u00fc\n")])
def test_what_a_stream_cannot_encode_is_escaped(encoding: str, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", stream)
    Console().data("\udcff ü")
    assert stream.buffer.getvalue().decode(encoding) == written


def test_quiet_keeps_results_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=True)
    console.data("result")
    console.talk("talk")
    console.complain("error")
    assert capsys.readouterr() == ("result\n", "error\n")


DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-name = 'a'\r\n+name = 'ä\x1b[31m'\r\n"


def test_a_diff_reaches_a_program_byte_by_byte(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    Console().patch(DIFF)
    assert capsysbinary.readouterr().out == DIFF.encode()


def test_a_diff_does_not_steer_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    with open(slave, "w", encoding="utf-8") as terminal, open(master, "rb", buffering=0) as shown:  # noqa: PTH123 (descriptors)
        monkeypatch.setattr(sys, "stdout", terminal)
        Console().patch(DIFF)
        terminal.flush()
        assert b"\x1b" not in shown.read(1000)
