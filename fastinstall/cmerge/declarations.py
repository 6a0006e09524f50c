"""Names in C code: which a declaration or an item defines, and which a stretch of code reads, writes and leaves open.

An item's text can be rewritten with some names replaced. Macros are seen as a function's code sees them: by the names
that they use without receiving them as parameters.
"""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from fastinstall.cmerge.syntax import BLOCKS, DIRECTIVE, Item, SyntaxNode

_DECLARATORS = frozenset[str]().union(
    ("identifier", "pointer_declarator", "array_declarator", "function_declarator"),
    ("parenthesized_declarator", "attributed_declarator", "init_declarator"),
)
_TRANSPARENT = BLOCKS | {"case_statement", "labeled_statement"}


@dataclass(frozen=True, slots=True)
class Declared:
    """One name of a declaration.

    Attributes:
        name: empty if none can be made out.
        type: tokens of the type with its qualifiers and storage class, without what belongs to the declarator.
        declarator: with its stars and brackets, without the initial value.
        initial: its initial value, or None if it has none.
    """

    name: str
    type: tuple[str, ...]
    declarator: SyntaxNode
    initial: SyntaxNode | None


def list_declared_names(declaration: SyntaxNode) -> tuple[Declared, ...]:
    """The names that a declaration declares, in order."""
    children = declaration.children or ()
    first = next((index for index, child in enumerate(children) if child.type in _DECLARATORS), len(children))
    kind = tuple(token for child in children[:first] for token in child.signature)
    return tuple(_make_declared(kind, child) for child in children[first:] if child.type in _DECLARATORS)


def declarations_in(node: SyntaxNode) -> Iterator[Declared]:
    """All names that are declared at or below a node, parameters too."""
    for below in node.walk():
        if below.type in ("declaration", "parameter_declaration"):
            yield from list_declared_names(below)


def reads(expression: SyntaxNode) -> set[str]:
    """What an expression reads: "x" for a variable, ".x" for a field, "x[]" for an element of an array x."""
    found = set()
    for node in expression.walk():
        if node.type in ("identifier", "field_expression", "subscript_expression"):
            found.add(_place(node))
    return found - {""}


def writes(nodes: Iterable[SyntaxNode]) -> set[str]:
    """What statements may write, in the words of `reads`.

    Written is what is assigned, counted up or down, declared again, what gives its address away, and what stands alone
    as an argument of a macro: capitals tell that it may be one.
    """
    return {place for node in nodes for below in node.walk() for place in _list_written_names(below)} - {""}


def find_free_names(node: SyntaxNode, bound: frozenset[str] = frozenset()) -> set[str]:
    """Names that a node uses and does not declare itself in a scope around the use; words of directives count."""
    if node.type == DIRECTIVE:
        return set(names_in_directive(node.signature) - bound)
    if not node.children:
        is_name = node.text and node.type not in ("field_identifier", "statement_identifier")
        return {node.text or ""} - bound if is_name else set()
    found: set[str] = set()
    for child in node.children:
        bound |= _list_introduced_names(child)
        if node.type == "function_definition":
            bound |= {declared.name for declared in declarations_in(child) if child.type.endswith("declarator")}
        found |= find_free_names(child, bound)
    return found


def _list_introduced_names(node: SyntaxNode) -> set[str]:
    """Names that are declared from here on: what stands under `#if` or behind a label stands in no scope of its own."""
    if node.type == "declaration":
        return {declared.name for declared in list_declared_names(node)}
    if node.type not in _TRANSPARENT:
        return set()
    return {name for child in node.children or () for name in _list_introduced_names(child)}


def _make_declared(kind: tuple[str, ...], node: SyntaxNode) -> Declared:
    declarator, initial = node, None
    if node.type == "init_declarator" and node.children:
        declarator, initial = node.children[0], node.children[-1]
    names = (below.text for below in declarator.walk() if below.type == "identifier")
    return Declared(next(names, None) or "", kind, declarator, initial)


def _list_written_names(node: SyntaxNode) -> Iterator[str]:
    children = node.children or ()
    match node.type:
        case "assignment_expression":
            yield _place(children[0].bare)
        case "update_expression" | "gnu_asm_expression":
            yield from (_place(child.bare) for child in children)
        case "pointer_expression" if children[0].text == "&":
            yield _place(children[1].bare)
        case "declaration":
            yield from (declared.name for declared in list_declared_names(node))
        case "call_expression" if (children[0].text or "").isupper():
            yield from (_place(argument.bare) for argument in children[1].children or ())


def _place(node: SyntaxNode) -> str:
    children = node.children or ()
    if node.type == "identifier":
        return node.text or ""
    if node.type == "field_expression":
        return f".{children[-1].text}"
    if node.type == "subscript_expression":
        array = _place(children[0].bare)
        return array if array.startswith(".") else f"{array}[]"
    return ""


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


def list_item_definitions(item: Item) -> frozenset[str]:
    """Names that an item brings to a file or, by `#undef`, takes away: those that a second copy must not have."""
    named = {item.key.name} if item.key.kind in ("function", "declaration", "define", "type") else set()
    return frozenset((*named, *_list_defined_names(item.node)))


def find_used_names(text: str) -> frozenset[str]:
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


def cut_before_body(text: str) -> str:
    """A function's text before its body."""
    blanked = _WORD.sub(lambda match: match["name"] or " " * len(match.group()), text)
    return text[: blanked.index("{")].rstrip()


def function_definitions(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The functions that an item defines, also inside `#if`."""
    if node.type == "function_definition":
        yield node
    elif node.type in BLOCKS:
        for child in node.children or ():
            yield from function_definitions(child)


def function_name(node: SyntaxNode) -> str:
    """The name of a function, from its definition; empty if it has none."""
    return next(_list_declared_names(node), "")


def find_declared_name(node: SyntaxNode) -> SyntaxNode | None:
    """The leaf that a declarator names: of `*f(int (*g)(void))` it is `f`."""
    for leaf in node.walk():
        if leaf.type in _NAMES and leaf.children is None:
            return leaf
    return None


def is_declarator(node: SyntaxNode) -> bool:
    """Whether a node of a declaration declares a name."""
    return node.type in _NAMES or node.type.endswith("declarator")


def _list_defined_names(node: SyntaxNode) -> Iterator[str]:
    if node.type == DIRECTIVE:
        yield from _MACRO.findall(node.text or "")
    elif node.type == "function_definition":
        yield from _list_declared_names(node)
    elif node.type in _DECLARING:
        yield from _list_declared_names(node)
        for child in node.children or ():
            yield from _list_defined_names(child)
    elif node.type in _TYPES:
        yield from _list_type_names(node)
    elif node.type in BLOCKS:
        for child in node.children or ():
            yield from _list_defined_names(child)


def _list_declared_names(node: SyntaxNode) -> Iterator[str]:
    """Names declared by a definition or a declaration; its type comes first, and is none of them."""
    typed = False
    for child in node.children or ():
        if typed and is_declarator(child) and (leaf := find_declared_name(child)) and leaf.text:
            yield leaf.text
        typed = typed or _is_type(child)


def _is_type(node: SyntaxNode) -> bool:
    return node.type in ("primitive_type", "type_identifier", "sized_type_specifier", *_TYPES)


def _list_type_names(node: SyntaxNode) -> Iterator[str]:
    """The tag of a struct, union or enum that is defined here, and the names of an enum's values."""
    children = node.children or ()
    if not any(child.type in _BODIES for child in children):
        return
    yield from (child.text for child in children if child.type == "type_identifier" and child.text)
    for each in node.walk():
        if each.type == "enumerator" and each.children and each.children[0].text:
            yield each.children[0].text


_DEFINES = ("#define", "#define()")


def names_in_macros(items: Iterable[Item]) -> dict[str, frozenset[str]]:
    """For each macro that the items define, under `#if` too, the words of its body that are no parameters of it."""
    found: dict[str, frozenset[str]] = {}
    for item in items:
        nodes = item.node.walk() if item.key.kind in ("define", "conditional") else ()
        for signature in (node.signature for node in nodes if node.type == DIRECTIVE):
            if signature[0] in _DEFINES:
                found[signature[1]] = found.get(signature[1], frozenset()) | names_in_directive(signature)
    return found


def names_in_directive(signature: tuple[str, ...]) -> frozenset[str]:
    """The words of a preprocessor line behind the first one; of a macro only its body's, without its parameters."""
    word, *body = signature
    if word in _DEFINES:
        body = body[1:]
    parameters: set[str] = set()
    if word == "#define()" and ")" in body:
        end = body.index(")")
        parameters.update(body[:end])
        body = body[end + 1 :]
    return frozenset(token for token in body if token.isidentifier()) - parameters
