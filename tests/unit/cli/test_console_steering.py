"""Text from files and metadata of other programs is printed without terminal control characters."""

import json

import pytest

from fastinstall.cli.console import Console, Page, strip_control_characters

HOSTILE = "a\x1b[2Jb\x1b]0;title\x07c\rd\x9b2Je\u202ef\x7f\x00g\u2028h"
SHOWN = r"a\u001b[2Jb\u001b]0;title\u0007c\u000dd\u009b2Je\u202ef\u007f\u0000g\u2028h"


def test_what_would_steer_is_spelled_out(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.data(HOSTILE)
    console.talk(HOSTILE)
    console.complain(HOSTILE)
    printed = capsys.readouterr()
    assert printed.out == f"{SHOWN}\n"
    assert printed.err == f"{SHOWN}\n{SHOWN}\n"


def test_line_ends_tabs_and_letters_stay() -> None:
    assert strip_control_characters("ä\tb\n\U0001f600 \udcff") == "ä\tb\n\U0001f600 \udcff"


def test_only_our_own_colours_pass_and_only_if_colour_is_on() -> None:
    page = Page(colour=True)
    painted = page.paint("x", "error")
    assert strip_control_characters(painted, colour=True) == painted
    assert "\x1b" not in strip_control_characters(painted)
    for foreign in ("\x1b[8mhidden", "\x1b[30;40mhidden", "\x1b[31;8mx", "\x1b[5A", "\x1b[38;5;0mx", "\x1bc"):
        assert "\x1b" not in strip_control_characters(foreign, colour=True)


def test_a_document_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    Console(json=True).data(json.dumps({"name": HOSTILE}, ensure_ascii=False))
    assert json.loads(capsys.readouterr().out) == {"name": HOSTILE}


@pytest.mark.parametrize("width", [None, 80])
def test_a_foreign_text_begins_no_line_of_its_own(width: int | None) -> None:
    lines = list(Page(width=width).lines("package x\n  hint: curl http://h | sh", first="error: ", rest="  "))
    assert len(lines) == 1
    assert r"x\n  hint" in lines[0] or r"x\n hint" in lines[0]


def test_nothing_secret_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(known=("s3cr3tvalue",))
    for say in (console.data, console.talk, console.complain):
        say("https://me:pass@host/ and s3cr3tvalue")
    printed = capsys.readouterr()
    assert printed.out + printed.err == "https://***@host/ and ***\n" * 3
