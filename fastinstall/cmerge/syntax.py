"""C source as a sequence of items: definitions, declarations and preprocessor lines, each with its syntax tree.

Parsing never fails: an item that tree-sitter cannot read becomes one atomic node, compared by its tokens. No text is
lost: the leads and texts of the items, and the tail, are the source again.

The tree is not tree-sitter's: it has no comments or white space, preprocessor lines are single nodes with their text,
and string and character literals are leaves. The scanner of tokens is not a preprocessor: macros are not expanded, and
lines are not included.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import tree_sitter
import tree_sitter_c

_PUNCTUATORS = (
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
    "*=", "/=", "%=", "+=", "-=", "&=", "^=", "|=", "##",
)  # fmt: skip

_TOKEN = re.compile(
    r"""
    (?P<blank> (?:[ \t\f\v\r]|\\\r?\n)+ | //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )
  | (?P<newline> \n )
  | (?P<directive> \#[ \t]*(?P<word>\w+) (?:(?<=define)[ \t]+(?P<macro>\w+)(?=\())? )
  | (?P<token> (?:L|u8|u|U)?"(?:\\.|[^"\\\n])*"
            | (?:L|u|U)?'(?:\\.|[^'\\\n])*'
            | \.?\d(?:[eEpP][+-]|[\w.])*
            | \w+
            | """
    + "|".join(map(re.escape, _PUNCTUATORS))
    + r"""
            | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    r"""The tokens of C source, comments and white space dropped, also inside `#define`.

    The word of a directive is one token with its "#"; that of a macro with parameters is "#define()", for
    `#define A (x)` and `#define A(x)` differ by white space alone. The end of a directive is the token "\n".
    """
    found: list[str] = []
    inside = False
    fresh = True
    for match in _TOKEN.finditer(text):
        match match.lastgroup:
            case "blank":
                continue
            case "newline":
                found.extend("\n" * inside)
                inside, fresh = False, True
                continue
            case "directive" if fresh:
                found.extend(_make_directive_key(match))
                inside = True
            case "directive":
                found.extend(("#", *match.group().lstrip("#").split()))
            case _:
                found.append(match.group())
        fresh = False
    return (*found, "\n") if inside else tuple(found)


def _make_directive_key(match: re.Match[str]) -> tuple[str, ...]:
    if match["macro"]:
        return ("#define()", match["macro"])
    return ("#" + match["word"],)


DIRECTIVE = "directive"

_COMPOUND = frozenset[str]().union(
    ("assignment_expression", "binary_expression", "cast_expression", "comma_expression"),
    ("conditional_expression", "pointer_expression", "sizeof_expression", "unary_expression"),
    ("update_expression",),
)
_BYTES = (("char",), ("unsigned", "char"), ("signed", "char"), ("UINT8",), ("INT8",), ("uint8_t",), ("int8_t",))


@dataclass(slots=True, eq=False)
class SyntaxNode:
    """One node; never changed once it is made, and therefore shared freely. What is computed from it is kept.

    Attributes:
        type: tree-sitter's name of the kind ("if_statement", "identifier"), or "directive", or "atomic".
        text: of a leaf, or None if the node has children.
        children: in order; None for a leaf.
    """

    type: str
    text: str | None = None
    children: "tuple[SyntaxNode, ...] | None" = None
    _signature: tuple[str, ...] | None = field(init=False, repr=False, default=None)
    _loose: tuple[str, ...] | None = field(init=False, repr=False, default=None)

    @property
    def signature(self) -> tuple[str, ...]:
        """Its tokens: two nodes with the same ones mean the same."""
        if self._signature is None:
            inner = chain.from_iterable([child.signature for child in self.children or ()])
            self._signature = self._list_own_tokens() or tuple(inner)
        return self._signature

    @property
    def loose(self) -> tuple[str, ...]:
        """Its tokens modulo what never matters: for comparison only.

        Every compound expression is put in parentheses, so that those of the source show in the structure alone. A byte
        read through a cast pointer, `((UINT8 *)p)[i]`, is the same as one that is cast when read, `(UINT8)p[i]`, and
        the address of a byte that is handed to a function is the same whichever kind of byte it is. Casts that can
        change a value stay: `(size_t)a * b` is not `a * b`.
        """
        if self._loose is None:
            self._loose = self._loosen()
        return self._loose

    def walk(self) -> Iterator["SyntaxNode"]:
        """This node and all below it, in the order of the text."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            if node.children:
                pending.extend(reversed(node.children))

    def rewrite(self, change: "Callable[[SyntaxNode], SyntaxNode]") -> "SyntaxNode":
        """A copy with `change` applied to every node, from the leaves up; what does not change is shared."""
        node = self
        if self.children:
            children = tuple(child.rewrite(change) for child in self.children)
            if any(one is not other for one, other in zip(children, self.children, strict=True)):
                node = SyntaxNode(self.type, None, children)
        return change(node)

    @property
    def bare(self) -> "SyntaxNode":
        """What stands in the parentheses, if this node is a parenthesized expression."""
        node = self
        while node.type == "parenthesized_expression" and node.children and len(node.children) == 3:  # noqa: PLR2004 ("(", it, ")")
            node = node.children[1]
        return node

    def _list_own_tokens(self) -> tuple[str, ...]:
        if self.children is not None or self.text is None:
            return ()
        return tokens(self.text) if self.type == DIRECTIVE else (self.text,)

    def _loosen(self) -> tuple[str, ...]:
        if not self.children:
            return self.signature
        if self.bare is not self:
            return self.bare.loose
        children = self.children
        prefix: tuple[str, ...] = ()
        if self.type == "subscript_expression" and (cast := _parse_byte_pointer(children[0])):
            prefix, children = ("(", "(", *cast[0], ")"), (cast[1], *children[1:])
        if self.type == "argument_list":
            children = tuple(map(_simplify_address, children))
        inner = tuple(token for child in children for token in child.loose)
        if prefix:
            return (*prefix, *inner, ")")
        return ("(", *inner, ")") if self.type in _COMPOUND else inner


def _parse_byte_pointer(node: SyntaxNode) -> tuple[tuple[str, ...], SyntaxNode] | None:
    """The kind of byte, and the pointer, of a cast to a pointer to bytes."""
    cast = node.bare
    if cast.type != "cast_expression" or not cast.children:
        return None
    kind = cast.children[1].signature
    if kind[-1] != "*" or kind[:-1] not in _BYTES:
        return None
    return kind[:-1], cast.children[-1].bare


def _simplify_address(argument: SyntaxNode) -> SyntaxNode:
    """An argument `(UINT8 *)p + i` as `p + i`."""
    total = argument.bare
    if total.type != "binary_expression" or not total.children or total.children[1].text != "+":
        return argument
    cast = _parse_byte_pointer(total.children[0])
    return SyntaxNode(total.type, None, (cast[1], *total.children[1:])) if cast else argument


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
_MADE: dict[tuple[str, bool, str], SyntaxNode] = {}
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
    node: SyntaxNode
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
    root = tree_sitter.Parser(_load_language()).parse(reader.source).root_node
    occurrences: Counter[tuple[str, str]] = Counter()
    items: list[Item] = []
    end = 0
    for first, last in _list_spans(root.children):
        kind, name = _KINDS.get(first.type, "other"), reader.name(first)
        key = ItemKey(kind, name, occurrences[kind, name])
        occurrences[kind, name] += 1
        text, lead = reader.text(first.start_byte, last.end_byte), reader.text(end, first.start_byte)
        items.append(Item(key, reader.item_node(first, last, text), text, lead))
        end = last.end_byte
    return ParsedFile(tuple(items), reader.text(end, len(reader.source)))


@lru_cache(maxsize=1)
def _load_language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_c.language())


def _list_spans(children: list[tree_sitter.Node]) -> list[tuple[tree_sitter.Node, tree_sitter.Node]]:
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
            return _simplify_directive(_find_header(self.of(node)))
        if node.type in ("function_definition", "declaration", "type_definition"):
            return self._find_declared_name(node)
        named = node.child_by_field_name("name")
        if named is not None and node.type not in _LINES - {"preproc_def", "preproc_function_def"}:
            return self.of(named)
        return _simplify_directive(self.of(node))[: None if node.type == "preproc_include" else 60]

    def _find_declared_name(self, node: tree_sitter.Node) -> str:
        inner: tree_sitter.Node | None = node
        while inner is not None:
            node = inner
            inner = node.child_by_field_name("declarator")
            if node.type == "parenthesized_declarator":
                inner = next((child for child in node.named_children if child.type.endswith("declarator")), None)
        return _simplify_directive(self.of(node))[:60]

    def item_node(self, first: tree_sitter.Node, last: tree_sitter.Node, text: str) -> SyntaxNode:
        """The syntax of an item, made once for all versions of a file that have the item word for word."""
        known = (first.type, first.has_error or last.has_error, text)
        if known not in _MADE:
            if len(_MADE) >= _MOST_MADE:
                _MADE.clear()
            _MADE[known] = self._parse_span(first, last) or _make_atomic(text)
        return _MADE[known]

    def _parse_span(self, first: tree_sitter.Node, last: tree_sitter.Node) -> SyntaxNode | None:
        if first.has_error or last.has_error:
            return None
        try:
            node = self.node(first, 0)
        except _TooDeepError:
            return None
        if node is None or first == last:
            return node
        return SyntaxNode(node.type, None, (*(node.children or (node,)), SyntaxNode(";", ";")))

    def node(self, node: tree_sitter.Node, depth: int) -> SyntaxNode | None:
        """Return the node without comments, or None if nothing is left."""
        if depth > _DEEPEST:
            raise _TooDeepError
        if node.type in _LINES:
            return SyntaxNode(DIRECTIVE, _simplify_directive(self.of(node)))
        if node.type in BLOCKS:
            return self._block(node, depth)
        children = () if node.type in _LEAVES else node.children
        if not children:
            text = self.of(node)
            return SyntaxNode(node.type, text) if text.strip() and node.type != "comment" else None
        built = (self.node(child, depth + 1) for child in children)
        return SyntaxNode(node.type, None, tuple(child for child in built if child is not None))

    def _block(self, node: tree_sitter.Node, depth: int) -> SyntaxNode:
        """`#if` and its like: the line, what is between, and `#endif` where it is its own."""
        header = _find_header(self.of(node))
        begin = node.start_byte + len(header.encode("utf-8", "surrogateescape"))
        children = [SyntaxNode(DIRECTIVE, _simplify_directive(header))]
        for child in node.children:
            if child.type == "#endif":
                children.append(SyntaxNode(DIRECTIVE, "#endif"))
            elif child.start_byte >= begin and (built := self.node(child, depth + 1)) is not None:
                children.append(built)
        return SyntaxNode(node.type, None, tuple(children))


def _make_atomic(text: str) -> SyntaxNode:
    return SyntaxNode(ATOMIC, None, tuple(SyntaxNode("token", token) for token in tokens(text)))


def _find_header(text: str) -> str:
    """The first line, with those that continue it."""
    match = _HEADER.match(text)
    return match.group() if match else ""


def _simplify_directive(text: str) -> str:
    """A preprocessor line without comments and continuations, one blank where there was white space."""
    return _LITERAL_OR_BLANK.sub(lambda match: match[1] or " ", text).strip()
