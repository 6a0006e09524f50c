"""A C source as a sequence of items: its definitions, declarations and preprocessor lines, each with its syntax tree.

It never fails: an item that tree-sitter cannot read becomes one atomic node, compared by its tokens. Nothing of the
text is lost: leads and texts of the items, and the tail, are the source again.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import tree_sitter
import tree_sitter_c

from fastinstall.merge.lexer import tokens
from fastinstall.merge.nodes import DIRECTIVE, Node

__all__ = ["BLOCKS", "Item", "ItemKey", "Node", "ParsedFile", "parse_items", "tokens"]

ATOMIC = "atomic"
BLOCKS = frozenset(("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"))

_LINES = frozenset(("preproc_def", "preproc_function_def", "preproc_call", "preproc_include"))
_LEAVES = frozenset(("string_literal", "char_literal", "system_lib_string"))
_KINDS = {
    "function_definition": "function",
    "preproc_def": "define",
    "preproc_function_def": "define",
    "preproc_include": "include",
    "declaration": "declaration",
    "type_definition": "type",
    "struct_specifier": "struct",
    "union_specifier": "struct",
    "enum_specifier": "struct",
    **dict.fromkeys(BLOCKS, "conditional"),
}
_DEEPEST = 150
_MADE: dict[tuple[str, bool, str], Node] = {}
_MOST_MADE = 8192
_HEADER = re.compile(r"(?:\\\r?\n|\\.|[^\n\\])*")
_LITERAL_OR_BLANK = re.compile(
    r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?:\s|\\\r?\n|//[^\n]*|/\*.*?(?:\*/|\Z))+""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ItemKey:
    """What makes an item of one text the counterpart of an item of another.

    Attributes:
        kind: "function", "define", "include", "declaration", "type", "struct", "conditional" or "other".
        name: what it defines; of an include or a conditional its line; of other things how they begin.
        occurrence: 0 for the first item of that kind and name in the file.
    """

    kind: str
    name: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class Item:
    """One thing at the top level of a file.

    Attributes:
        key: its kind and name.
        node: its syntax.
        text: as it stands in the source.
        lead: what stands before it: comments and white space.
    """

    key: ItemKey
    node: Node
    text: str
    lead: str

    @property
    def signature(self) -> tuple[str, ...]:
        """Its tokens."""
        return self.node.signature


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A source, item by item.

    Attributes:
        items: in the order of the text.
        tail: what stands behind the last one.
    """

    items: tuple[Item, ...]
    tail: str

    @property
    def by_key(self) -> dict[ItemKey, Item]:
        """The items by their keys."""
        return {item.key: item for item in self.items}


@lru_cache(maxsize=32)
def parse_items(source: str) -> ParsedFile:
    """Take a C source apart; what cannot be parsed is an atomic item, never an error.

    Args:
        source: the text; bytes that are no UTF-8 as `surrogateescape` leaves them.
    """
    reader = _Reader(source.encode("utf-8", "surrogateescape"))
    root = tree_sitter.Parser(_language()).parse(reader.source).root_node
    occurrences: Counter[tuple[str, str]] = Counter()
    items: list[Item] = []
    end = 0
    for first, last in _spans(root.children):
        kind, name = _KINDS.get(first.type, "other"), reader.name(first)
        key = ItemKey(kind, name, occurrences[kind, name])
        occurrences[kind, name] += 1
        text, lead = reader.text(first.start_byte, last.end_byte), reader.text(end, first.start_byte)
        items.append(Item(key, reader.item_node(first, last, text), text, lead))
        end = last.end_byte
    return ParsedFile(tuple(items), reader.text(end, len(reader.source)))


@lru_cache(maxsize=1)
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_c.language())


def _spans(children: list[tree_sitter.Node]) -> list[tuple[tree_sitter.Node, tree_sitter.Node]]:
    """First and last node of each item: a semicolon belongs to what it ends."""
    spans: list[tuple[tree_sitter.Node, tree_sitter.Node]] = []
    for child in children:
        if child.type == ";" and spans:
            spans[-1] = (spans[-1][0], child)
        elif child.type != "comment":
            spans.append((child, child))
    return spans


class _TooDeepError(Exception):
    """Nested deeper than can be worked on by recursion."""


@dataclass(frozen=True, slots=True)
class _Reader:
    source: bytes

    def text(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "surrogateescape")

    def of(self, node: tree_sitter.Node) -> str:
        return self.text(node.start_byte, node.end_byte)

    def name(self, node: tree_sitter.Node) -> str:
        if node.type in BLOCKS:
            return _plain(_header(self.of(node)))
        if node.type in ("function_definition", "declaration", "type_definition"):
            return self._declared(node)
        named = node.child_by_field_name("name")
        if named is not None and node.type not in _LINES - {"preproc_def", "preproc_function_def"}:
            return self.of(named)
        return _plain(self.of(node))[: None if node.type == "preproc_include" else 60]

    def _declared(self, node: tree_sitter.Node) -> str:
        inner: tree_sitter.Node | None = node
        while inner is not None:
            node = inner
            inner = node.child_by_field_name("declarator")
            if node.type == "parenthesized_declarator":
                inner = next((child for child in node.named_children if child.type.endswith("declarator")), None)
        return _plain(self.of(node))[:60]

    def item_node(self, first: tree_sitter.Node, last: tree_sitter.Node, text: str) -> Node:
        """The syntax of an item, made once for all versions of a file that have the item word for word."""
        known = (first.type, first.has_error or last.has_error, text)
        if known not in _MADE:
            if len(_MADE) >= _MOST_MADE:
                _MADE.clear()
            _MADE[known] = self._parsed(first, last) or _atomic(text)
        return _MADE[known]

    def _parsed(self, first: tree_sitter.Node, last: tree_sitter.Node) -> Node | None:
        if first.has_error or last.has_error:
            return None
        try:
            node = self.node(first, 0)
        except _TooDeepError:
            return None
        if node is None or first == last:
            return node
        return Node(node.type, None, (*(node.children or (node,)), Node(";", ";")))

    def node(self, node: tree_sitter.Node, depth: int) -> Node | None:
        """Return the node without comments, or None if nothing is left."""
        if depth > _DEEPEST:
            raise _TooDeepError
        if node.type in _LINES:
            return Node(DIRECTIVE, _plain(self.of(node)))
        if node.type in BLOCKS:
            return self._block(node, depth)
        children = () if node.type in _LEAVES else node.children
        if not children:
            text = self.of(node)
            return Node(node.type, text) if text.strip() and node.type != "comment" else None
        built = (self.node(child, depth + 1) for child in children)
        return Node(node.type, None, tuple(child for child in built if child is not None))

    def _block(self, node: tree_sitter.Node, depth: int) -> Node:
        """`#if` and its like: the line, what is between, and `#endif` where it is its own."""
        header = _header(self.of(node))
        begin = node.start_byte + len(header.encode("utf-8", "surrogateescape"))
        children = [Node(DIRECTIVE, _plain(header))]
        for child in node.children:
            if child.type == "#endif":
                children.append(Node(DIRECTIVE, "#endif"))
            elif child.start_byte >= begin and (built := self.node(child, depth + 1)) is not None:
                children.append(built)
        return Node(node.type, None, tuple(children))


def _atomic(text: str) -> Node:
    return Node(ATOMIC, None, tuple(Node("token", token) for token in tokens(text)))


def _header(text: str) -> str:
    """The first line, with those that continue it."""
    match = _HEADER.match(text)
    return match.group() if match else ""


def _plain(text: str) -> str:
    """A preprocessor line without comments and continuations, one blank where there was white space."""
    return _LITERAL_OR_BLANK.sub(lambda match: match[1] or " ", text).strip()
