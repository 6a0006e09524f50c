"""Names in the package avoid the words listed here, in favour of the field's own terms; names of tests are short."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import fastinstall

PACKAGE = Path(str(fastinstall.__file__)).parent
TESTS = Path(__file__).parents[1]
LONGEST = 60

WORDS = (
    "berth moor moored chassis lanes? grounds? yard groundwork footing lay lift sweep stretch engage engaged engaging "
    "disengage yielding overrun rivals? intruders? standing glances? glimpse at_hand late early workshop leash tally "
    "seat voice foretelling foretold wish hazard contestant course pace race heat heir settled? mend mended conclude"
)
ONE_OF_THEM = "|".join(WORDS.split())
IN_NAME = re.compile(rf"(?:^|_)(?:{ONE_OF_THEM})(?:_|$)")
IN_TEXT = re.compile(rf"(?:(?<![A-Za-z])|(?<=[a-z0-9])(?=[A-Z]))(?i:{ONE_OF_THEM})(?![a-z])")
ALLOWED = {
    "report_late_interruptions": "the field's term, with its noun: a signal that comes when the work is done",
    "_lay_out": "to lay out: to arrange on a page, or as files in a directory",
    "lay_out_bridge": "likewise",
    "lay_out_wheel": "likewise",
}


def test_identifiers_are_made_of_other_words() -> None:
    named = {name for path in PACKAGE.rglob("*.py") for name in list_names(path)}
    assert {name for name in named if IN_NAME.search(to_snake_case(name))} == set(ALLOWED)


def list_names(path: Path) -> Iterator[str]:
    """Yield the module's name and the names that it defines or uses; names in strings are not code."""
    yield path.stem
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if IN_TEXT.search(text) else ():
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case _:
                pass


def to_snake_case(name: str) -> str:
    """Return a name in snake case."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def test_names_of_tests_have_at_most_60_characters() -> None:
    modules = "\n".join(path.read_text("utf-8") for path in TESTS.rglob("test_*.py"))
    assert [name for name in re.findall(r"^def (test_\w+)", modules, re.MULTILINE) if len(name) > LONGEST] == []
