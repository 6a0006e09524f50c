"""The screens in the documentation of the wizard are those that the wizard shows."""

import re
from pathlib import Path

import pytest
from support.terminal.wizard_screens import SCREENS

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "wizard.md"
BLOCKS = re.findall(r"(?ms)^```text\n(.*?)^```", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.strip().splitlines()[0][:40])
def test_a_screen_of_the_page_is_one_of_the_wizard(block: str) -> None:
    assert any(block in file.read_text(encoding="utf-8") for file in SCREENS.glob("*.txt"))


def test_there_are_screens() -> None:
    assert len(BLOCKS) >= 6
