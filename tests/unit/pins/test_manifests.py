"""A pin's lines are added to a manifest without any other change, and replace the lines of a pin to another build."""

import doctest
import tomllib
from pathlib import PurePath

import pytest

from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.pins import manifests
from fastinstall.pins.manifests import merge_lines, quote_toml

FILE = PurePath("/srv/project/pyproject.toml")
LINES = {
    "arrays": '[tool.uv]\nfind-links = ["wheels"]  # mark\nconstraint-dependencies = [\n    "a==1",\n    "b==2",\n]\n',
    "a key and an element": (
        '[tool.pdm.resolution.overrides]\npillow = "==1"\n\n[[tool.pdm.source]]\nname = "ours"\ntype = "find_links"\n'
    ),
    "inline tables": (
        '[tool.poetry.group.ours.dependencies]\npillow = [\n    { path = "a" },\n    { version = "b" },\n]\n'
    ),
}
TEXTS = {
    "empty": "",
    "without the table": '[project]\nname = "demo"\n',
    "no newline at the end": '[project]\nname = "demo"',
    "a blank line at the end": '[project]\nname = "demo"\n\n',
    "a table with comments": "# file\n[tool.uv]  # table\n# key\npackage = false  # value\n\n[b]\n",
    "an empty table at the end": "[tool.uv]\n",
    "a header without newline": "[tool.uv]",
    "a table that only its own tables imply": "[tool.uv.sources]\na = { path = 'a' }\n",
    "spaces in the header": "[ tool . uv ]\npackage = false\n",
    "a header in a string": '[project]\ntext = """\n[tool.uv]\n"""\n',
    "quoted names": '["tool"."uv"]\npackage = false\n',
    "an inline table": "[tool]\nuv = { package = false }\n",
    "dotted keys": "[tool]\nuv.package = false\n",
    "an array in one line": "[tool.uv]\nfind-links = ['theirs']  # mine\npackage = false\n",
    "an empty array": "[tool.uv]\nfind-links = []\n",
    "an array of many lines": "[tool.uv]\nfind-links = [\n 'theirs', # why\n\n # another\n 'others'\n]\npackage = 0\n",
    "tables after it": "[tool.uv]\npackage = false\n\n[[tool.uv.index]]\nname = 'a'\n\n[[tool.uv.index]]\nname = 'b'\n",
    "sources of pdm": "[tool.pdm]\nx = 1\n\n[[tool.pdm.source]]\nname = 'a'\n\n[tool.pdm.scripts]\nx = 'y'\n",
    "overrides of pdm": "[tool.pdm.resolution.overrides]\n# theirs\nnumpy = '2'\n",
    "carriage returns": '[project]\r\nname = "demo"\r\n\r\n[tool.uv]\r\npackage = false\r\n',
    "letters of other scripts": "[project]\nauthors = ['Łukasz 名前']\n[tool.uv]\n",
}  # fmt: skip


def merged(text: str, lines: str) -> str:
    return merge_lines(text, lines, file=FILE)


def test_the_example_in_its_docstring_is_true() -> None:
    assert doctest.testmod(manifests).attempted
    assert doctest.testmod(manifests).failed == 0


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_lines_are_there_and_everything_else_stays(text: str, lines: str) -> None:
    edited = merged(text, lines)

    assert _contains(tomllib.loads(edited), tomllib.loads(lines))
    assert _contains(tomllib.loads(edited), tomllib.loads(text))
    assert _comments_of(text) <= _comments_of(edited)
    assert merged(edited, lines) == edited, "what is there is not added twice"


@pytest.mark.parametrize("text", [text for name, text in TEXTS.items() if name != "an inline table"])
def test_no_line_changes_but_those_of_an_array_that_is_there(text: str) -> None:
    edited = merged(text, LINES["arrays"]).splitlines()
    assert [line for line in text.splitlines() if "find-links = [" not in line and line not in edited] == []


def test_the_comment_of_a_line_comes_with_it() -> None:
    assert 'find-links = ["wheels"]  # mark\n' in merged(TEXTS["a table with comments"], LINES["arrays"])


def test_what_is_inserted_has_the_line_ends_of_the_file() -> None:
    for lines in LINES.values():
        assert "\n" not in merged(TEXTS["carriage returns"], lines).replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("k = ['pillow==1+simd.v3', 'a']", "k = ['pillow==2+simd.v3']", {"k": ["pillow==2+simd.v3", "a"]}),
        ("k = '==1+simd.v2.v3'", "k = '==2+simd.v3'", {"k": "==2+simd.v3"}),
        ("k = ['/home/me/.local/share/fastinstall/wheels']", "k = ['wheels']", {"k": ["wheels"]}),
        ("k = ['.fastinstall/channel', 'b']", "k = ['./channel-0123456789ab']", {"k": ["./channel-0123456789ab", "b"]}),
        (
            "[[k]]\nname = 'a'\n[[k]]\nname = 'fastinstall'\nurl = 'a'\n",
            "[[k]]\nname = 'fastinstall'\nurl = 'b'\n",
            {"k": [{"name": "fastinstall", "url": "b"}, {"name": "a"}]},
        ),
    ],
)
def test_what_pinned_another_build_is_replaced(text: str, lines: str, expected: dict[str, object]) -> None:
    assert tomllib.loads(merged(text, lines)) == expected


@pytest.mark.parametrize(
    ("text", "lines", "told"),
    [
        ("[a]\nk = '12'\n", "[a]\nk = '13'\n", r"pyproject\.toml already sets a\.k: 12"),
        ("[tool]\nuv = 3\n", LINES["arrays"], r"tool\.uv: 3"),
        ("[tool.uv]\nfind-links = 'a'\n", LINES["arrays"], r"tool\.uv\.find-links: a"),
        ("k = { version = '1' }", "k = { version = '2' }", r"k\.version: 1"),
    ],
)
def test_a_value_of_somebody_else_is_shown_and_not_replaced(text: str, lines: str, told: str) -> None:
    with pytest.raises(RefusedError, match=told):
        merged(text, lines)


def test_what_is_not_toml_is_named() -> None:
    with pytest.raises(DocumentError, match=r"pyproject\.toml: not TOML"):
        merged("[tool", LINES["arrays"])


def test_a_path_is_read_back_as_it_was() -> None:
    path = 'C:\\a "b"\t名'
    assert tomllib.loads(f"k = {quote_toml(path)}")["k"] == path


def _contains(whole: object, part: object) -> bool:
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and _contains(whole[key], value) for key, value in part.items())
    if isinstance(whole, list) and isinstance(part, list):
        return all(item in whole for item in part)
    return whole == part


def _comments_of(text: str) -> set[str]:
    return {line.partition("#")[2].strip() for line in text.splitlines()}
