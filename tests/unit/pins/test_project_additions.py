"""Additions to TOML: they get in without a change to anything else, and out again to the byte."""

import tomllib

import pytest

from fastinstall.core.errors import RefusedError
from fastinstall.pins.manifests import (
    MARK,
    Addition,
    ArrayAddition,
    KeyAddition,
    TableAddition,
    add,
    format_additions,
    has_all,
    list_pieces,
    withdraw,
)

LIST = ArrayAddition(table=("tool", "uv"), key="find-links", items=("wheels",))
OTHER = ArrayAddition(table=("tool", "uv"), key="constraint-dependencies", items=("a==1", "b==2"))
KEY = KeyAddition(table=("tool", "pdm", "resolution", "overrides"), key="pillow", literal='"==1"')
SOURCE = TableAddition(table=("tool", "pdm", "source"), literals={"name": '"ours"', "type": '"find_links"'})
LONG = KeyAddition(table=("tool", "poetry", "group", "ours", "dependencies"), key="pillow", literal='[\n    "a",\n]')

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


@pytest.mark.parametrize("addition", [LIST, KEY, SOURCE, LONG], ids=["items", "setting", "element", "long"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_addition_is_there_and_everything_else_stays(text: str, addition: Addition) -> None:
    edited = add(text, [addition])

    found = tomllib.loads(edited)
    value = found["tool"]
    for name in addition.table[1:]:
        value = value[name]
    assert _is_in(value, addition)
    assert _comments_of(text) <= _comments_of(edited)
    assert has_all(edited, [addition])


@pytest.mark.parametrize("addition", [LIST, KEY, SOURCE, LONG], ids=["items", "setting", "element", "long"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_others_add_meanwhile_stays(text: str, addition: Addition) -> None:
    edited = add(text, [addition])
    comment = "# theirs\n" if edited.endswith("\n") else "\n# theirs\n"

    left = withdraw(edited + comment, [addition], list_pieces(edited, [addition]))

    assert left.endswith("# theirs\n")
    assert tomllib.loads(left) == tomllib.loads(text) or _only_empty_tables(left, text)


@pytest.mark.parametrize(
    "name",
    [name for name in TEXTS if name not in ("an inline table", "dotted keys") and "array" not in name],
)
def test_what_was_inserted_comes_out_to_the_byte(name: str) -> None:
    additions: list[Addition] = [OTHER, LIST, SOURCE]
    edited = add(TEXTS[name], additions)

    assert not has_all(TEXTS[name], additions)
    left = withdraw(edited, additions, list_pieces(edited, additions))
    assert left.rstrip() == TEXTS[name].rstrip()


def test_entries_that_somebody_has_laid_out_anew_are_found() -> None:
    edited = add(TEXTS["an array of many lines"], [LIST])
    rewritten = edited.replace("[tool.uv]\n", "[tool.uv]\nmanaged = true\n")

    left = tomllib.loads(withdraw(rewritten, [LIST], ()))

    assert left == {"tool": {"uv": {"find-links": ["theirs", "others"], "package": 0, "managed": True}}}


def test_an_item_that_is_there_is_not_added_twice() -> None:
    text = "[tool.uv]\nfind-links = ['wheels']\n"

    assert tomllib.loads(add(text, [LIST])) == tomllib.loads(text)


def test_several_additions_share_a_table() -> None:
    edited = add("", [LIST, OTHER])

    assert tomllib.loads(edited)["tool"]["uv"] == {
        "find-links": ["wheels"],
        "constraint-dependencies": ["a==1", "b==2"],
    }
    assert edited.count(MARK) == 2


def test_what_is_inserted_has_the_line_ends_of_the_file() -> None:
    assert "\n" not in add(TEXTS["carriage returns"], [LIST, KEY, SOURCE, LONG]).replace("\r\n", "")


@pytest.mark.parametrize("text", ["[tool.pdm]\nsource = [{ name = 'a' }]\n", "[tool.pdm]\nsource = 'odd'\n"])
def test_what_cannot_be_edited_safely_is_refused_with_the_lines_to_add(text: str) -> None:
    with pytest.raises(RefusedError) as refused:
        add(text, [SOURCE])

    assert refused.value.details == ("[[tool.pdm.source]]", 'name = "ours"', 'type = "find_links"')


def test_lines_to_paste_name_each_table_once() -> None:
    assert format_additions([LIST, KeyAddition(table=("tool", "uv"), key="package", literal="false")]) == (
        "[tool.uv]",
        "find-links = [",
        '    "wheels",',
        "]",
        "package = false",
    )


def _is_in(value: object, addition: Addition) -> bool:
    if isinstance(addition, TableAddition):
        assert isinstance(value, list)
        return {"name": "ours", "type": "find_links"} in value
    assert isinstance(value, dict)
    return "wheels" in value[addition.key] if isinstance(addition, ArrayAddition) else addition.key in value


def _comments_of(text: str) -> set[str]:
    return {line.partition("#")[2].strip() for line in text.splitlines()}


def _only_empty_tables(left: str, text: str) -> bool:
    """Whether nothing but empty tables differ."""
    return _without_empty(tomllib.loads(left)) == _without_empty(tomllib.loads(text))


def _without_empty(value: object) -> object:
    if not isinstance(value, dict):
        return value
    kept = {key: _without_empty(item) for key, item in value.items()}
    return {key: item for key, item in kept.items() if item not in ({}, [])}
