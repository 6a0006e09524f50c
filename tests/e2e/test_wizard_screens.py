"""The wizard from its first question to its last, as reviewed screens: usual, in plain lines, narrow and in ASCII."""

import re
import struct
from pathlib import Path

import pytest
from environments_by_hand import conda_by_hand, venv_by_hand
from interpreters import running
from sandbox import Sandbox
from terminal import Terminal, terminal
from wizard_person import MENU, TOPICS, WHERE, Person
from wizard_screens import assert_screen, settled

pytest_plugins = ("wizard_fixtures",)

PLAIN = {"TERM": "dumb"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "NO_COLOR": "1"}

_COLOUR = re.compile(rb"\x1b\[[0-9;]*(3[0-8]|9[0-7])[0-9;]*m")


@pytest.fixture
def place(sandbox: Sandbox, short_root: Path) -> Path:
    """A directory with environments and images."""
    made = short_root
    sandbox.venv(running(), name=made / ".venv", pip=False)
    venv_by_hand(made / "fast", "3.12.4", "pillow-13.0.0+simd.v2.v3", ours="13.0.0+simd.v2.v3")
    venv_by_hand(made / "lost", "3.13.0", "pillow-13.0.0", ours="13.0.0+simd.v2.v3")
    venv_by_hand(made / "old", "3.10.2", "pillow-12.1.1", "Pillow_SIMD-9.5.0.post2")
    conda_by_hand(made / "conda-env", "3.12.1", "pillow-12.3.0")
    (made / "images").mkdir()
    for number in range(3):
        (made / "images" / f"{number}.jpg").write_bytes(photo(4000, 3000))
    return made


@pytest.mark.parametrize(
    ("name", "columns", "changes"),
    [("usual", 80, {}), ("plain", 80, PLAIN), ("narrow", 60, ASCII)],
    ids=["usual", "plain lines", "60 columns, ASCII, no colour"],
)
def test_it_leads_from_the_environments_to_a_plan_by_reviewed_screens(
    sandbox: Sandbox, place: Path, name: str, columns: int, changes: dict[str, str]
) -> None:
    cache = sandbox.cache_without("durations.json", "speed", "wheels")
    variables = sandbox.variables({"FASTINSTALL_CACHE_DIR": str(cache), **changes})
    with terminal("setup", variables=variables, directory=place, columns=columns) as shown:
        answer(Person(shown=shown, plain=name == "plain"))
        assert shown.end() == 5
        check_bytes(shown, name)
        assert_screen(name, settled(shown.text, place))


def answer(person: Person) -> None:
    """Look at one thing after the other, and cancel."""
    person.chooses(WHERE, "./.venv")
    person.chooses(MENU, "Customize")
    person.chooses(TOPICS, "CPU level")
    person.chooses("Which CPU level", "x86-64-v2 alone")
    person.chooses(TOPICS, "Guard")
    person.chooses("Install the start-up guard", "Back")
    person.chooses(TOPICS, "Your images")
    person.types("Where are your images?", "images")
    person.chooses(TOPICS, "Done")
    person.reads("for x86-64-v2 into")
    person.chooses(MENU, "Cancel")


def check_bytes(shown: Terminal, name: str) -> None:
    """What a terminal of the kind can show: no character beyond ASCII anywhere, no colour or no escape code at all."""
    assert shown.raw.isascii()
    assert bool(_COLOUR.search(shown.raw)) is (name == "usual")
    if name == "plain":
        assert b"\x1b" not in shown.raw
        assert b"\b" not in shown.raw


def photo(width: int, height: int) -> bytes:
    """The header of a JPEG, which is all that is looked at."""
    frame = struct.pack(">BHHB", 8, height, width, 3) + bytes((1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1))
    return b"\xff\xd8\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xd9"
