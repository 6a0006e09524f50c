"""Read a YAML document as nodes that know their lines. Pure.

PyYAML parses; nothing of it is constructed, so that every scalar stays the text that it is, and neither nesting nor
aliases cost more than what is allowed here. Imported where a file is read: PyYAML's import takes 20 ms.
"""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol, cast

from fastinstall.core.errors import DocumentError
from fastinstall.core.values import immutable

if TYPE_CHECKING:
    import yaml

_DEPTH = 64
_NODES = 4_000_000
"""What a document may come to, each alias counted as all that it stands for: forty times a large lock."""

_MERGE = "<<"


class YamlKind(StrEnum):
    """What a node is."""

    SCALAR = "scalar"
    LIST = "list"
    MAPPING = "mapping"


@immutable
class YamlNode:
    """A part of a document.

    Attributes:
        kind: scalar, list or mapping.
        line: where it begins, from 1.
        last: the line where it ends.
        column: behind its end, on that line, from 0.
        text: of a scalar, without quotes and with its lines folded.
        plain: a scalar without quotes, for which an empty text means that there is none.
        items: the elements, if it is a list.
        entries: of a mapping, as they stand there.
        size: how many nodes it comes to.
    """

    kind: YamlKind
    line: int
    last: int
    column: int = 0
    text: str = ""
    plain: bool = False
    items: tuple["YamlNode", ...] = ()
    entries: tuple[tuple["YamlNode", "YamlNode"], ...] = ()
    size: int = 1

    def pairs(self) -> dict[str, tuple["YamlNode", "YamlNode"]]:
        """Return the keys of a mapping, each with its own node and its value; those that "<<" brings rank lower."""
        own = {key.text: (key, value) for key, value in self.entries if key.kind is YamlKind.SCALAR}
        merged = own.pop(_MERGE, None)
        for each in _merge_mappings(merged[1]) if merged is not None else ():
            for key, value in each.entries:
                own.setdefault(key.text, (key, value))
        return own

    def value(self, *names: str) -> "YamlNode | None":
        """Return what stands behind the first of these keys that is there."""
        pairs = self.pairs()
        return next((pairs[name][1] for name in names if name in pairs), None)


def read_yaml(text: str, file: PurePath) -> YamlNode | None:
    """Read a document.

    Args:
        text: the content of the file.
        file: its name, for messages.

    Returns:
        None if the file is empty.

    Raises:
        DocumentError: it is no YAML, holds several documents, or nests or repeats itself beyond reason; with the line.
    """
    import yaml  # noqa: PLC0415 (slow, and rarely needed)

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Composer(file).composed(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable"
        raise DocumentError(file, f"line {mark.line + 1}" if mark else "", f"not YAML: {problem}") from None
    except ValueError as error:  # half a character that no encoding has
        raise DocumentError(file, "", f"not YAML: {error}") from None


class _Composer:
    """Makes nodes of events, with a stack of its own: depth is counted, never left to that of the interpreter."""

    def __init__(self, file: PurePath) -> None:
        self._file = file
        self._anchors: dict[str, YamlNode] = {}
        self._open: list[tuple[yaml.CollectionStartEvent, list[YamlNode]]] = []
        self._roots: list[YamlNode] = []

    def composed(self, events: "Iterable[yaml.Event]") -> YamlNode | None:
        import yaml  # noqa: PLC0415 (slow, and rarely needed)

        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._add(_make_scalar(event), event.anchor)
            elif isinstance(event, yaml.AliasEvent):
                found = self._anchors.get(event.anchor or "")
                self._require_limit(event, found is None, f"*{event.anchor} has no anchor before it")
                self._add(cast("YamlNode", found), None)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._open.append((event, []))
                self._require_limit(event, len(self._open) > _DEPTH, f"nested deeper than {_DEPTH} levels")
            elif isinstance(event, yaml.CollectionEndEvent):
                start, parts = self._open.pop()
                self._add(_make_collection(start, parts, event), start.anchor)
            elif isinstance(event, yaml.DocumentStartEvent):
                self._require_limit(event, bool(self._roots), "expected one document, found a second")
        return self._roots[0] if self._roots else None

    def _add(self, node: YamlNode, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = node
        if node.size > _NODES:
            raise DocumentError(self._file, f"line {node.line}", "its aliases expand to too much")
        (self._open[-1][1] if self._open else self._roots).append(node)

    def _require_limit(self, event: "yaml.Event", beyond: bool, problem: str) -> None:  # noqa: FBT001 (a condition, and its words)
        if beyond:
            raise DocumentError(self._file, f"line {_place(event.start_mark)[0]}", problem)


def _make_scalar(event: "yaml.ScalarEvent") -> YamlNode:
    line, _ = _place(event.start_mark)
    last, column = _place(event.end_mark)
    block = column == 0 and last > line  # such a scalar ends where the next line begins
    return YamlNode(
        kind=YamlKind.SCALAR,
        line=line,
        last=last - 1 if block else last,
        column=column,
        text=event.value,
        plain=not event.style,
    )


def _make_collection(
    start: "yaml.CollectionStartEvent", parts: list[YamlNode], end: "yaml.CollectionEndEvent"
) -> YamlNode:
    """Make a list or mapping; one in block style has no end of its own, and is over where the next thing begins."""
    mapping = type(start).__name__ == "MappingStartEvent"
    line, _ = _place(start.start_mark)
    last, column = _place(end.end_mark)
    return YamlNode(
        kind=YamlKind.MAPPING if mapping else YamlKind.LIST,
        line=line,
        last=last if start.flow_style else max([line, *(each.last for each in parts)]),
        column=column if start.flow_style else 0,
        items=() if mapping else tuple(parts),
        entries=tuple(zip(parts[::2], parts[1::2], strict=True)) if mapping else (),
        size=1 + sum(each.size for each in parts),
    )


class _Mark(Protocol):
    """Where PyYAML is; its parsers in C and in Python have one each."""

    line: int
    column: int


def _place(mark: _Mark | None) -> tuple[int, int]:
    """Return line, from 1, and column, from 0."""
    return (mark.line + 1, mark.column) if mark is not None else (1, 0)


def _merge_mappings(value: YamlNode) -> tuple[YamlNode, ...]:
    return (value,) if value.kind is YamlKind.MAPPING else value.items
