"""A question is printed once; its answer follows on the same line or, in narrow terminals, on the next line."""

import time
from pathlib import Path

import pytest
from support.terminal.pseudo_terminal import ENTER, Terminal, python_in_terminal

ASKS = """
import sys

from fastinstall.cli.questions import asker_for
from fastinstall.cli.console import Console
from fastinstall.cli.console import Page

asker = asker_for(Console(lines_only=False, make_page=lambda _stream: Page(width=int(sys.argv[1]))))
asker.choose("Two environments are active. Which one should it be then?", {"here": "./.venv", "none": "Cancel"})
asker.confirm("Accept the risk that is named 'vulnerable' above?")
asker.ask_text("Channels, separated by commas [back: go back]:", default="conda-forge")
"""

WIDE = """\
? Two environments are active. Which one should it be then? (arrow keys, Enter)
 > ./.venv
   Cancel
---
? Two environments are active. Which one should it be then? ./.venv
? Accept the risk that is named 'vulnerable' above? (Y/n)
---
? Two environments are active. Which one should it be then? ./.venv
? Accept the risk that is named 'vulnerable' above? Yes
? Channels, separated by commas [back: go back]: conda-forge"""

NARROW = """\
? Two environments are active. Which one should it be then?
  (arrow keys, Enter)
 > ./.venv
   Cancel
---
? Two environments are active. Which one should it be then?
  ./.venv
? Accept the risk that is named 'vulnerable' above?
  (Y/n)
---
? Two environments are active. Which one should it be then?
  ./.venv
? Accept the risk that is named 'vulnerable' above?
  Yes
? Channels, separated by commas [back: go back]:
  conda-forge"""


@pytest.mark.parametrize(("columns", "screens"), [(80, WIDE), (60, NARROW)])
def test_a_question_shows_once_while_waiting_and_once_answered(tmp_path: Path, columns: int, screens: str) -> None:
    variables = {"LC_ALL": "C.UTF-8", "HOME": str(tmp_path)}
    with python_in_terminal(
        "-c", ASKS, str(columns), variables=variables, directory=tmp_path, columns=columns
    ) as shown:
        for screen in screens.split("\n---\n"):
            waits(shown, screen)
            shown.press(ENTER)
        assert shown.end() == 0


def waits(shown: Terminal, screen: str) -> None:
    """Wait until the terminal shows exactly this screen."""
    deadline = time.monotonic() + 30
    while shown.text != screen and time.monotonic() < deadline:
        shown.listen()
    assert shown.text == screen
