"""The man page documents what the parser accepts; tests/repository/docs/test_reference.py checks that it is current."""

import re

from render_command_line import render_man

from fastinstall import __version__
from fastinstall.cli.help import groups_of
from fastinstall.cli.parser import build_parser, verbs_of
from fastinstall.core.errors import ExitCode

PAGE = render_man()


def _roff(text: str) -> str:
    return text.replace("-", r"\-")


def test_it_has_every_verb_and_every_flag() -> None:
    verbs = verbs_of(build_parser())
    actions = [action for verb in verbs for _, found in groups_of(verb) for action in found]
    flags = {flag for action in actions for flag in action.option_strings}
    assert [verb.prog for verb in verbs if f".SS {verb.prog}" not in PAGE] == []
    assert [flag for flag in flags if _roff(flag) not in PAGE] == []


def test_it_tells_which_version_it_is_of_and_every_exit_code() -> None:
    assert PAGE.startswith(f'.TH FASTINSTALL 1 "" "fastinstall {__version__}"')
    assert [code for code in ExitCode if rf"\fB{int(code)}\fR" not in PAGE] == []


def test_nothing_in_it_is_taken_for_a_request() -> None:
    requests = {line.split()[0] for line in PAGE.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".BR"}


def test_the_man_page_is_ascii_with_only_valid_roff_escapes() -> None:
    assert PAGE.isascii()
    assert re.findall(r"\\(?!-|e|&|,|/|fB|fI|fR|\((?:aq|ha|ti))", PAGE) == []


def test_code_is_bold_and_no_mark_of_markdown_is_left() -> None:
    assert "`" not in PAGE
    assert r"\fBfastinstall setup \-\-yes \-\-new\-env ./fast\-env\fR" in PAGE
