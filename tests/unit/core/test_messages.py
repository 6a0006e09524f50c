"""Commands in messages use the name by which the program was called."""

import pytest

from fastinstall.core.messages import PROGRAM, spell_commands

BOOTSTRAP = "sh '/srv/my tools/bootstrap.sh'"
COMMANDS = [
    "hint: fastinstall doctor --fix --prefix /srv/env",
    "(fastinstall build --format conda -o ./channel)",
    "`fastinstall setup --upgrade`",
    "sudo -u images fastinstall doctor",
    "fastinstall --help",
    "usage: fastinstall VERB [FLAG...]",
    "\x1b[1mUndo  \x1b[0mfastinstall rollback --prefix ./env",
    "\x1b[33mfastinstall doctor\x1b[0m",
]


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_names_the_program_as_it_was_called(text: str) -> None:
    spelled = spell_commands(text, BOOTSTRAP)
    assert spelled == text.replace(PROGRAM, BOOTSTRAP)
    assert spell_commands(text, PROGRAM) == text


@pytest.mark.parametrize("program", [BOOTSTRAP, "/srv/bin/fastinstall", "uvx fastinstall", "pipx run fastinstall"])
@pytest.mark.parametrize("text", COMMANDS)
def test_what_is_spelled_stays(text: str, program: str) -> None:
    once = spell_commands(text, program)
    assert spell_commands(once, program) == once


@pytest.mark.parametrize(
    "text",
    [
        "the fastinstall build resizes 10 times as fast",
        "conda fastinstall doctor --fix",
        "/srv/venv/bin/fastinstall doctor",
        "/srv/venv/bin/python -m fastinstall doctor",
        "only a fastinstall build named pillow can be pinned",
        "pip install fastinstall",
        "set up by fastinstall 0.1.0",
    ],
)
def test_what_is_no_command_of_ours_stays(text: str) -> None:
    assert spell_commands(text, BOOTSTRAP) == text


def test_a_line_inside_a_json_string_is_a_command_too() -> None:
    assert spell_commands(r'"first\nfastinstall doctor"', "uvx fastinstall") == r'"first\nuvx fastinstall doctor"'
