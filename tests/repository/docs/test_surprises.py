"""The page of surprises has twenty numbered entries, and every script in findings/ that it names exists."""

import re

from support.docs.pages import ROOT

PAGE = ROOT / "docs/explanation/surprises.md"


def test_it_has_twenty_numbered_entries() -> None:
    numbers = re.findall(r"^(\d+)\. ", PAGE.read_text("utf-8"), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 21)]


def test_every_script_that_it_names_exists() -> None:
    names = re.findall(r"findings/[\w-]+\.sh", PAGE.read_text("utf-8"))
    assert len(names) >= 10
    assert [name for name in names if not (ROOT / name).is_file()] == []
