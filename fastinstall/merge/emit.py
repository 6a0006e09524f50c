"""C source from a syntax tree: one statement a line, indented; without the comments, which the tree does not have."""

from collections.abc import Iterator
from itertools import pairwise

from fastinstall.merge.nodes import DIRECTIVE, Node
from fastinstall.merge.syntax import parse_items

_LINES = frozenset(
    (
        "compound_statement",
        "declaration",
        "expression_statement",
        "for_statement",
        "if_statement",
        "return_statement",
    )
)
_CLOSING = frozenset((")", "]", ",", ";"))
_OPENING = frozenset(("(", "["))
_INDENT = "    "
_NEWLINE = "\n"


def emit(node: Node) -> str:
    """The source of one item, ending in a newline."""
    lines: list[list[str]] = [[]]
    for piece in _pieces(node):
        if piece != _NEWLINE:
            lines[-1].append(piece)
        elif lines[-1]:
            lines.append([])
    depth, text = 0, ""
    for line in filter(None, lines):
        depth -= line[0] == "}"
        directive = line[0].startswith("#")
        text += ("" if directive else _INDENT * depth) + _join(line) + _NEWLINE
        depth += (line.count("{") - line.count("}") + (line[0] == "}")) * (not directive)
    return text


def reads_back(node: Node, text: str) -> bool:
    """Whether a text is parsed to the very tree that it was made from: that nothing binds otherwise than meant."""
    items = parse_items(text).items
    return len(items) == 1 and _shape(items[0].node) == _shape(node)


def _pieces(node: Node) -> Iterator[str]:
    """Tokens and line ends."""
    if node.type == DIRECTIVE:
        yield from (_NEWLINE, node.text or "", _NEWLINE)
    elif node.text is not None:
        yield node.text
        if node.text == "{":
            yield _NEWLINE
    for child in node.children or ():
        yield from _pieces(child)
        if child.type in _LINES and not (node.type == "for_statement" and child.type == "declaration"):
            yield _NEWLINE


def _join(line: list[str]) -> str:
    text = line[0]
    for before, token in pairwise(line):
        text += token if token in _CLOSING or before in _OPENING else f" {token}"
    return text


def _shape(node: Node) -> list[tuple[str, str | None, int]]:
    return [(below.type, below.text, len(below.children or ())) for below in node.walk()]
