"""Read documents in environments, which another version of fastinstall may have written.

Later versions may add keys without changing the schema's number: a reader ignores unknown keys, and a writer preserves
them. For a change that readers must not ignore, the schema gets another name or number. Readers of earlier versions
then refuse the document, and name the version that wrote it.

Documents that people write or send (recipes, settings, saved plans) are read elsewhere: in these, an unknown key is an
error.
"""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, TypeVar

from fastinstall.core.codec import decode, format_value
from fastinstall.core.errors import DocumentError, LaterDocumentError

T = TypeVar("T")

_NUMBER = 1
_WRITER = "tool_version"


def open_stored(cls: type[T], name: str, data: object, *, file: PurePath | str) -> T:
    """Read one of fastinstall's own documents, written by any version.

    Args:
        cls: a dataclass of the model.
        name: the name of its schema: NAME in "fastinstall.NAME/1".
        data: the parsed JSON.
        file: the document's path, for messages.

    Raises:
        LaterDocumentError: the schema has a higher number.
        DocumentError: the document is malformed, has another schema, or has values unknown to this version.
    """
    if not isinstance(data, dict):
        raise DocumentError(file, "", "expected a table of keys at the top")
    refuse_other_schema(name, data.get("schema"), file=file, version=_get_text(data.get(_WRITER)))
    fields = {key: item for key, item in data.items() if key != "schema"}
    return decode(cls, fields, file=file, strict=False)


def refuse_other_schema(name: str, schema: object, *, file: PurePath | str, version: str) -> None:
    """Refuse a document unless it has a schema that this version can read.

    Args:
        name: the name of the expected schema, without its number.
        schema: the document's value of "schema", of any type.
        file: the document's path, for messages.
        version: the version of fastinstall that wrote it; empty if unknown.

    Raises:
        LaterDocumentError: the schema has a higher number.
        DocumentError: the document has another schema.
    """
    expected = f"fastinstall.{name}/{_NUMBER}"
    if schema == expected:
        return
    number = re.fullmatch(rf"fastinstall\.{re.escape(name)}/([1-9]\d*)", _get_text(schema))
    problem = f"expected {expected!r}, found {format_value(schema)}"
    if number and int(number[1]) > _NUMBER:
        raise LaterDocumentError(file, "schema", problem, version=version)
    raise DocumentError(file, "schema", problem)


def keep_unknown_keys(before: object, after: object) -> Any:  # noqa: ANN401 (JSON has no static type)
    """Return a new version of a document, with the keys of the old version that the writer does not know.

    Args:
        before: the old version, as JSON-ready data.
        after: the new version, with every key that the writer knows.
    """
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    known = {key: keep_unknown_keys(before.get(key), item) for key, item in after.items()}
    return {**known, **{key: item for key, item in before.items() if key not in after}}


def _get_text(value: object) -> str:
    return value if isinstance(value, str) else ""
