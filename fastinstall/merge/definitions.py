"""Which names an item of a C source defines, which it uses, and its text with some of them renamed."""

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from fastinstall.merge.nodes import DIRECTIVE, Node
from fastinstall.merge.syntax import BLOCKS, Item

_WORD = re.compile(
    r"""
    //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z)                # comments
  | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'               # literals
  | \.?\d(?:[eEpP][+-]|[\w.])*                              # numbers: 1.f has no member f
  | (?:\.|->)\s*[A-Za-z_]\w*                                # members: other names than those of a file
  | (?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)
_MACRO = re.compile(r"#\s*(?:define|undef)\s+(\w+)")
_DECLARING = ("declaration", "type_definition")
_TYPES = ("struct_specifier", "union_specifier", "enum_specifier")
_BODIES = ("field_declaration_list", "enumerator_list")
_NAMES = ("identifier", "type_identifier")


def defined_names(item: Item) -> frozenset[str]:
    """Names that an item brings to a file or, by `#undef`, takes away: those that a second copy must not have."""
    named = {item.key.name} if item.key.kind in ("function", "declaration", "define", "type") else set()
    return frozenset((*named, *_defined(item.node)))


def used_names(text: str) -> frozenset[str]:
    """Every name that stands in a text, but those of members, and what comments and literals say."""
    return frozenset(match["name"] for match in _WORD.finditer(text) if match["name"])


def rename(text: str, names: AbstractSet[str], suffix: str, *, limit: int | None = None) -> str:
    """Put a suffix to names, everywhere but behind "." and "->", and in comments and literals.

    Args:
        text: C source.
        names: which ones.
        suffix: what they get.
        limit: how many times at most, from the start.
    """
    left = [limit]

    def replaced(match: re.Match[str]) -> str:
        if match["name"] not in names or left[0] == 0:
            return match.group()
        left[0] = None if left[0] is None else left[0] - 1
        return match["name"] + suffix

    return _WORD.sub(replaced, text)


def until_body(text: str) -> str:
    """A function's text before its body."""
    blanked = _WORD.sub(_same_length(lambda match: match["name"] is not None), text)
    return text[: blanked.index("{")].rstrip()


def function_definitions(node: Node) -> Iterator[Node]:
    """The functions that an item defines, also inside `#if`."""
    if node.type == "function_definition":
        yield node
    elif node.type in BLOCKS:
        for child in node.children or ():
            yield from function_definitions(child)


def function_name(node: Node) -> str:
    """The name of a function, from its definition; empty if it has none."""
    return next(_declarators(node), "")


def declared_name(node: Node) -> Node | None:
    """The leaf that a declarator names: of `*f(int (*g)(void))` it is `f`."""
    for leaf in node.walk():
        if leaf.type in _NAMES and leaf.children is None:
            return leaf
    return None


def is_declarator(node: Node) -> bool:
    """Whether a node of a declaration declares a name."""
    return node.type in _NAMES or node.type.endswith("declarator")


def _same_length(kept: Callable[[re.Match[str]], bool]) -> Callable[[re.Match[str]], str]:
    return lambda match: match.group() if kept(match) else " " * len(match.group())


def _defined(node: Node) -> Iterator[str]:
    if node.type == DIRECTIVE:
        yield from _MACRO.findall(node.text or "")
    elif node.type == "function_definition":
        yield from _declarators(node)
    elif node.type in _DECLARING:
        yield from _declarators(node)
        for child in node.children or ():
            yield from _defined(child)
    elif node.type in _TYPES:
        yield from _type_names(node)
    elif node.type in BLOCKS:
        for child in node.children or ():
            yield from _defined(child)


def _declarators(node: Node) -> Iterator[str]:
    """Names declared by a definition or a declaration; its type comes first, and is none of them."""
    typed = False
    for child in node.children or ():
        if typed and is_declarator(child) and (leaf := declared_name(child)) and leaf.text:
            yield leaf.text
        typed = typed or _is_type(child)


def _is_type(node: Node) -> bool:
    return node.type in ("primitive_type", "type_identifier", "sized_type_specifier", *_TYPES)


def _type_names(node: Node) -> Iterator[str]:
    """The tag of a struct, union or enum that is defined here, and the names of an enum's values."""
    children = node.children or ()
    if not any(child.type in _BODIES for child in children):
        return
    yield from (child.text for child in children if child.type == "type_identifier" and child.text)
    for each in node.walk():
        if each.type == "enumerator" and each.children and each.children[0].text:
            yield each.children[0].text
