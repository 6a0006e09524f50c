"""Render the reference of recipes, JSON documents and checks from the code.

Recipes and documents are described by the docstrings of their dataclasses. A check is described by its module's
docstring: a title, a blank line, the findings (of each status), and two parts that begin with the lines "Why it
matters:" and "How to fix it:". `write_reference.py` writes the files.
"""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from enum import Enum
from functools import partial
from pathlib import Path, PurePath

from published_schemas import SCHEMAS

from fastinstall.core.codec import encode
from fastinstall.doctor.registry import CHECKS, Check
from fastinstall.model.advisories import AdvisoryList
from fastinstall.model.recipe import Recipe

_HEAD = """\
# Recipes

This page is generated from the dataclasses of the model; do not edit it.

A recipe is one TOML file in `recipes/`, or in the directory that `FASTINSTALL_RECIPES` names. An unknown key is an
error that names file and key: `fastinstall recipes check FILE.toml`. JSON Schemas: [recipe](schemas/recipe.json),
[advisories](schemas/advisories.json).
"""
_TYPES: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "true or false", date: "date"}


def render_recipes() -> str:
    """Return the text of docs/reference/recipes.md."""
    found: dict[type, None] = {}
    for cls in (Recipe, AdvisoryList):
        _collect(cls, found)
    return "\n".join((_HEAD, *(_render_class_section(cls) for cls in found)))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown; "|" inside cells is escaped."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def meanings(cls: type) -> dict[str, str]:
    """Return the description of each field of a dataclass, from the section "Attributes" of its docstring.

    If the docstring has no such section, the text after its last ": " describes every field.
    """
    text = inspect.cleandoc(cls.__doc__ or "")
    entries = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", text.partition("Attributes:\n")[2], re.MULTILINE)
    found = {name: re.sub(r"\s+", " ", meaning) for name, meaning in entries}
    return found or {field.name: text.rpartition(": ")[2] for field in dataclasses.fields(cls)}


def _collect(cls: type, found: dict[type, None]) -> None:
    """Add a dataclass to `found`, and then all dataclasses that the types of its fields contain."""
    if cls in found:
        return
    found[cls] = None
    for hint in typing.get_type_hints(cls).values():
        for inner in _list_inner_types(hint):
            if dataclasses.is_dataclass(inner):
                _collect(typing.cast("type", inner), found)


def _list_inner_types(hint: object) -> Iterator[object]:
    arguments = typing.get_args(hint)
    yield from (part for argument in arguments for part in _list_inner_types(argument)) if arguments else (hint,)


def _render_class_section(cls: type) -> str:
    hints, told = typing.get_type_hints(cls), meanings(cls)
    rows = (
        (
            f"`{field.name}`",
            _describe_type(hints[field.name]),
            _format_default(field),
            told[field.name].removesuffix("."),
        )
        for field in dataclasses.fields(cls)
    )
    summary = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0]
    return f"## {_format_class_title(cls)}\n\n{summary}\n\n{table(('key', 'value', 'default', 'means'), rows)}\n"


def _describe_type(hint: object) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _describe_type(arguments[0])
    if origin is tuple:
        return f"list of {_describe_type(arguments[0])}"
    if origin is dict:
        return f"table: name to {_describe_type(arguments[1])}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.value}`" for member in hint)
    if dataclasses.is_dataclass(hint):
        title = _format_class_title(typing.cast("type", hint))
        return f"[{title}](#{title.lower().replace(' ', '-')})"
    return _TYPES[hint]


def _format_default(field: "dataclasses.Field[object]") -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    value = encode(field.default)
    if value in (None, "", []):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _format_class_title(cls: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", cls.__name__).capitalize()


_DOCUMENTS_HEAD = """\
# JSON documents

This page is generated from the dataclasses of the model; do not edit it.

With `--json`, stdout has one document and stderr everything else. Its key `schema` names document and version:
`fastinstall.plan/1`. A later fastinstall may add keys; if it changes or drops one, the number goes up: [what later
versions keep](../explanation/stability.md). Tables show the outermost keys; the JSON Schema has all of them."""
_NAMES: Mapping[object, str] = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    Path: "text",
    PurePath: "text",
    types.NoneType: "null",
}


def render_documents(printed_by: Mapping[str, str]) -> str:
    """Return the text of docs/reference/documents.md.

    Args:
        printed_by: for each document, by name, the commands that print it, in Markdown.
    """
    listed = (
        (f"`fastinstall.{name}/1`", _format_document_link(name), commands) for name, commands in printed_by.items()
    )
    overview = table(("schema", "keys", "printed by"), listed)
    sections = (_render_document_section(name, make) for name, make in SCHEMAS.items() if name in printed_by)
    return "\n\n".join((_DOCUMENTS_HEAD, overview, *sections)) + "\n"


def _format_document_link(name: str) -> str:
    return f"[below](#{name})" if name in SCHEMAS else "a few, with plain names"


def _render_document_section(name: str, make: Callable[[], object]) -> str:
    cls = _get_class(make)
    hints, told = typing.get_type_hints(cls), meanings(cls)
    rows = (
        (f"`{field.name}`", _name_value_type(hints[field.name]), told.get(field.name, "").removesuffix("."))
        for field in dataclasses.fields(cls)
    )
    summary = (cls.__doc__ or "").strip().partition("\n\n")[0]
    return "\n\n".join(
        (f"## {name}", f"{summary} [JSON Schema](schemas/{name}.json)", table(("key", "value", "means"), rows))
    )


def _get_class(make: Callable[[], object]) -> type:
    """Return the dataclass that a schema in `SCHEMAS` is derived from."""
    assert isinstance(make, partial)  # noqa: S101 (SCHEMAS are partials of json_schema)
    return typing.cast("type", make.args[0])


def _name_value_type(hint: object) -> str:
    """Return the JSON type of a value in words, given its type hint."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(dict.fromkeys(_name_value_type(each) for each in arguments))
    if origin is tuple:
        return f"list of {_name_value_type(arguments[0])}"
    if arguments:
        return "object"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.value}`" for member in hint)
    if isinstance(hint, type) and issubclass(hint, PurePath):
        return "text"
    return _NAMES.get(hint, "object")


_CHECKS_HEAD = """\
# Checks

What `fastinstall doctor` checks, in the order of its report. `fastinstall doctor NAME ...` runs some of the checks,
`fastinstall doctor --list` lists them. This page is generated; do not edit it.

| status | means |
| --- | --- |
| `ok` | as it should be |
| `hint` | nothing is wrong, but there is something to know or to gain |
| `warning` | it works, but worse than it should, or it may fail later |
| `error` | it does not work, or it is not what it claims to be |
| `skipped` | nothing to check |
| `unknown` | it cannot be determined; counts as a warning |
| `crashed` | the check itself failed; counts as an error |

The command after `verify:` shows the evidence without fastinstall.
"""
_EXECUTES = "It imports Pillow in a subprocess of the environment's Python; `--quick` skips that."
_READS = "It runs no code of Pillow."
_PARTS = re.compile(r"^(Why it matters|How to fix it):\n", re.MULTILINE)


def render_checks(examples: Mapping[str, str]) -> str:
    """Return the text of docs/reference/checks.md.

    Args:
        examples: for each check, by name, an example of a finding as doctor prints it.
    """
    rows = (f"- [{name}](#{name}): {check.summary}" for name, check in CHECKS.items())
    sections = (_check_section(check, examples.get(name, "")) for name, check in CHECKS.items())
    return "\n".join((_CHECKS_HEAD, *rows, "", *sections))


def _check_section(check: Check, example: str) -> str:
    """Return the section about one check.

    Args:
        check: the check.
        example: an example of a finding, as doctor prints it.
    """
    found, parts = _split_docstring(check)
    paragraphs = (
        f"{check.summary}\n{_EXECUTES if check.needs_runtime else _READS}",
        found,
        f"**Why it matters.** {parts.get('Why it matters', '').strip()}",
        f"```text\n{example.rstrip()}\n```",
        f"**How to fix it.** {parts.get('How to fix it', '').strip()}",
    )
    return "\n\n".join((f"## {check.name}", *paragraphs)) + "\n"


def _split_docstring(check: Check) -> tuple[str, dict[str, str]]:
    """Return the description of a check's findings, and the other parts of the docstring, by their headings."""
    _title, _, body = inspect.cleandoc(check.module.__doc__ or "").partition("\n\n")
    found, *others = _PARTS.split(body)
    return found.strip(), dict(zip(others[::2], others[1::2], strict=True))
