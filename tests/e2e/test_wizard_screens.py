"""The wizard's screens as golden files, in a usual, a narrow and an ASCII terminal, and in plain lines."""

import re
from pathlib import Path

import pytest
from support.environments.handwritten import conda_by_hand, venv_by_hand
from support.environments.interpreters import running
from support.sandbox import Sandbox
from support.terminal.pseudo_terminal import ENTER, Terminal, terminal
from support.terminal.wizard_person import MENU, TOPICS, WHERE, Person
from support.terminal.wizard_screens import assert_screen, settled

pytest_plugins = ("support.terminal.wizard_fixtures",)

LEVELS = "Which CPUs should it run on?"
PLAIN = {"TERM": "dumb"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "NO_COLOR": "1"}

_COLOUR = re.compile(rb"\x1b\[[0-9;]*(3[0-8]|9[0-7])[0-9;]*m")


@pytest.fixture
def place(sandbox: Sandbox, short_root: Path) -> Path:
    """Return a directory with environments."""
    made = short_root
    sandbox.venv(running(), name=made / ".venv", pip=False)
    venv_by_hand(made / "fast", "3.12.4", "pillow-13.0.0+simd.v2.v3", ours="13.0.0+simd.v2.v3")
    venv_by_hand(made / "lost", "3.13.0", "pillow-13.0.0", ours="13.0.0+simd.v2.v3")
    venv_by_hand(made / "old", "3.10.2", "pillow-12.1.1", "Pillow_SIMD-9.5.0.post2")
    conda_by_hand(made / "conda-env", "3.12.1", "pillow-12.3.0")
    return made


@pytest.mark.parametrize(
    ("name", "columns", "changes"),
    [("usual", 80, {}), ("plain", 80, PLAIN), ("narrow", 60, ASCII)],
    ids=["usual", "plain lines", "60 columns, ASCII, no colour"],
)
def test_reviewed_screens_lead_from_the_environments_to_a_plan(
    sandbox: Sandbox, place: Path, name: str, columns: int, changes: dict[str, str]
) -> None:
    cache = sandbox.cache_without("speed", "wheels")
    variables = sandbox.variables({"FASTINSTALL_CACHE_DIR": str(cache), **changes})
    with terminal("setup", variables=variables, directory=place, columns=columns) as shown:
        answer(Person(shown=shown, plain=name == "plain"))
        assert shown.end() == 5
        check_bytes(shown, name)
        assert_screen(name, settled(shown.text, place))


def test_menus_stand_on_a_screen_with_what_each_answer_means(sandbox: Sandbox, place: Path) -> None:
    cache = sandbox.cache_without("speed", "wheels")
    variables = sandbox.variables({"FASTINSTALL_CACHE_DIR": str(cache)})
    with terminal("setup", variables=variables, directory=place) as shown:
        person, menus = Person(shown=shown), []
        for question, label, last in (
            (WHERE, "./.venv", "Cancel"),
            (MENU, "Customize", "Cancel"),
            (TOPICS, "CPU level", "Details"),
            (LEVELS, "Back", "Back"),
        ):
            person.reads(question)
            assert person.keys(last), "answers that are still being written"
            way = person.keys(label)
            menus.append("\n".join(shown.rows).strip())
            shown.press(*way, ENTER)
        person.chooses(TOPICS, "Continue")
        person.chooses(MENU, "Cancel")
        assert shown.end() == 5
        assert_screen("menus", settled("\n---\n".join(menus), place))


def answer(person: Person) -> None:
    """Visit several menus as this person, then cancel."""
    person.chooses(WHERE, "./.venv")
    person.chooses(MENU, "Customize")
    person.chooses(TOPICS, "CPU level")
    person.chooses(LEVELS, "x86-64-v2")
    person.chooses(TOPICS, "Guard")
    person.chooses("Warn when another tool replaces it?", "Back")
    person.chooses(TOPICS, "Continue")
    person.reads("+simd.v2")
    person.chooses(MENU, "Cancel")


def check_bytes(shown: Terminal, name: str) -> None:
    """Check that all bytes are ASCII, that only "usual" has colour, and that "plain" has no escape code."""
    assert shown.raw.isascii()
    assert bool(_COLOUR.search(shown.raw)) is (name == "usual")
    if name == "plain":
        assert b"\x1b" not in shown.raw
        assert b"\b" not in shown.raw
