"""The architecture page lists every room, and the files to read for each verb."""

import re

import pytest
from support.docs.pages import ROOT

PACKAGE = ROOT / "fastinstall"
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
MOST_WORDS = 1650
"""The permitted words of the page: two to three printed pages."""


def test_every_room_is_on_the_page_with_one_sentence() -> None:
    rooms = dict(re.findall(r"^\| `(\w+)/` \| (.*) \|$", PAGE, re.MULTILINE))
    assert set(rooms) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert [room for room, text in rooms.items() if not text.endswith(".") or ". " in text] == []


def test_the_page_is_short() -> None:
    assert len(PAGE.split()) <= MOST_WORDS


PATHS = dict(re.findall(r"^(\w+) +((?:[a-z]\w*/\S+\s+)+)", PAGE.partition("open these files")[2], re.MULTILINE))
MOST = {"setup": 10, "doctor": 8, "rollback": 8, "build": 8}


@pytest.mark.parametrize("verb", MOST)
def test_a_verb_is_followed_in_few_files(verb: str) -> None:
    files = [PACKAGE / f"{name}.py" for name in PATHS[verb].split()]
    assert len(files) <= MOST[verb]
    for number, file in enumerate(files[1:], start=1):
        module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        room, _, name = module.rpartition(".")
        importing = re.compile(rf"from {module} import|from {room} import [^\n]*\b{name}\b")
        assert any(importing.search(each.read_text("utf-8")) for each in files[:number]), file
