"""Documents that lie in environments, and that a fastinstall of another version may have written.

Within one number of a schema, keys may be added; a reader ignores those that it does not know, and whoever rewrites
such a document keeps them. What a reader must heed to be right bears another name or number, and is refused with the
version that wrote it.

Earlier forms, recognised by what stands there, are brought to the current one.

Not for what people write or send (recipes, settings, saved plans): there an unknown key is a mistake.
"""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, TypeVar

from fastinstall.core.errors import DocumentError, LaterDocumentError
from fastinstall.core.values import decode, format_value

T = TypeVar("T")

_NUMBER = 1
_WRITER = "tool_version"


def open_stored(cls: type[T], name: str, data: object, *, file: PurePath | str) -> T:
    """Read a document of ours, whichever version wrote it.

    Args:
        cls: a dataclass of the model.
        name: of its schema.
        data: what the JSON parser gave.
        file: where it came from, for messages.

    Raises:
        LaterDocumentError: its schema bears a higher number, or it says things that this version does not know.
        DocumentError: it is malformed.
    """
    if not isinstance(data, dict):
        raise DocumentError(file, "", "expected a table of keys at the top")
    refuse_other_schema(name, data.get("schema"), file=file, version=_get_text(data.get(_WRITER)))
    fields = {key: item for key, item in data.items() if key != "schema"}
    return decode(cls, migrate_fields(name, fields), file=file, strict=False)


def refuse_other_schema(name: str, schema: object, *, file: PurePath | str, version: str) -> None:
    """Raise unless a document has a schema that this version reads.

    Args:
        name: of the schema.
        schema: what the document says.
        file: for messages.
        version: of the fastinstall that wrote it; empty if it does not say.

    Raises:
        LaterDocumentError: it is the schema, with a higher number.
        DocumentError: it is another one.
    """
    expected = f"fastinstall.{name}/{_NUMBER}"
    if schema == expected:
        return
    number = re.fullmatch(rf"fastinstall\.{re.escape(name)}/([1-9]\d*)", _get_text(schema))
    problem = f"expected {expected!r}, found {format_value(schema)}"
    if number and int(number[1]) > _NUMBER:
        raise LaterDocumentError(file, "schema", problem, version=version)
    raise DocumentError(file, "schema", problem)


def keep_unknown_keys(before: object, after: object) -> Any:  # noqa: ANN401 (JSON is what it is)
    """A document written anew, with the keys of what it replaces that the writer does not know.

    Args:
        before: the document that was read, as JSON-ready data.
        after: the one that takes its place; it has every key that the writer knows.
    """
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    known = {key: keep_unknown_keys(before.get(key), item) for key, item in after.items()}
    return {**known, **{key: item for key, item in before.items() if key not in after}}


def _get_text(value: object) -> str:
    return value if isinstance(value, str) else ""


Fields = dict[str, Any]


def migrate_fields(name: str, fields: Fields) -> Fields:
    """The fields of a document in today's form.

    A receipt named the one level of its core before a wheel could have several.

    Args:
        name: of its schema, without the number.
        fields: as they were read.
    """
    if name != "receipt" or "level" not in fields or "levels" in fields:
        return fields
    rest = {key: item for key, item in fields.items() if key != "level"}
    return {**rest, "levels": [fields["level"]]}
