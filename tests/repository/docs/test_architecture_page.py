"""Where each thing lives, as the page on the architecture tells it."""

import re

import pytest
from support.docs.pages import ROOT

PACKAGE = ROOT / "fastinstall"
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
ROOMS = dict(re.findall(r"^\| `(\w+)/` \| (.*) \|$", PAGE, re.MULTILINE))
TABLES = {room: PAGE.partition(f"\n`{room}/`, which ")[2].partition("|\n\n")[0] for room in ("journal", "setup")}
ONE_FILE_EACH = {
    "bench": ("adapters", "_stores"),
    "cli": ("commands",),
    "observe": ("conda",),
    "pins": ("tools",),
    "proof": ("operations",),
    "setup": ("steps",),
    "wheelbuild": ("headers",),
}
"""Folders whose files are told together."""


def test_every_room_is_on_the_page() -> None:
    assert set(ROOMS) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_the_page_names_the_modules_of_a_room_and_no_others(room: str) -> None:
    named = set(re.findall(r"`(\w+)`", ROOMS[room] + TABLES.get(room, "")))
    told = [PACKAGE / room / folder for folder in ONE_FILE_EACH.get(room, ())]
    modules = {path.stem: path for path in (PACKAGE / room).rglob("*.py") if path.stem != "__init__"}
    public = {name for name, path in modules.items() if not name.startswith("_") and path.parent not in told}
    assert (named - set(modules), public - named) == (set(), set())


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
