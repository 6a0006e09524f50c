"""What a declaration inside a function declares, and which names a stretch of code reads, writes and leaves open."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fastinstall.merge.macros import names_in_directive
from fastinstall.merge.nodes import DIRECTIVE, Node
from fastinstall.merge.syntax import BLOCKS

_DECLARATORS = frozenset(
    (
        "identifier",
        "pointer_declarator",
        "array_declarator",
        "function_declarator",
        "parenthesized_declarator",
        "attributed_declarator",
        "init_declarator",
    )
)
_TRANSPARENT = BLOCKS | {"case_statement", "labeled_statement"}


@dataclass(frozen=True, slots=True)
class Declared:
    """One name of a declaration.

    Attributes:
        name: empty where none can be made out.
        type: tokens of the type with its qualifiers and storage class, without what belongs to the declarator.
        declarator: with its stars and brackets, without the initial value.
        initial: its initial value, or None if it has none.
    """

    name: str
    type: tuple[str, ...]
    declarator: Node
    initial: Node | None


def declared_by(declaration: Node) -> tuple[Declared, ...]:
    """The names that a declaration declares, in order."""
    children = declaration.children or ()
    first = next((index for index, child in enumerate(children) if child.type in _DECLARATORS), len(children))
    kind = tuple(token for child in children[:first] for token in child.signature)
    return tuple(_declared(kind, child) for child in children[first:] if child.type in _DECLARATORS)


def declarations_in(node: Node) -> Iterator[Declared]:
    """All names that are declared at or below a node, parameters too."""
    for below in node.walk():
        if below.type in ("declaration", "parameter_declaration"):
            yield from declared_by(below)


def reads(expression: Node) -> set[str]:
    """What an expression reads: "x" for a variable, ".x" for a field, "x[]" for an element of an array x."""
    found = set()
    for node in expression.walk():
        if node.type in ("identifier", "field_expression", "subscript_expression"):
            found.add(_place(node))
    return found - {""}


def writes(nodes: Iterable[Node]) -> set[str]:
    """What statements may write, in the words of `reads`.

    Written is what is assigned, counted up or down, declared again, what gives its address away, and what stands alone
    as an argument of a macro: capitals tell that it may be one.
    """
    return {place for node in nodes for below in node.walk() for place in _written(below)} - {""}


def free_names(node: Node, bound: frozenset[str] = frozenset()) -> set[str]:
    """Names that a node uses and does not declare itself in a scope around the use; words of directives count."""
    if node.type == DIRECTIVE:
        return set(names_in_directive(node.signature) - bound)
    if not node.children:
        is_name = node.text and node.type not in ("field_identifier", "statement_identifier")
        return {node.text or ""} - bound if is_name else set()
    found: set[str] = set()
    for child in node.children:
        bound |= _introduced(child)
        if node.type == "function_definition":
            bound |= {declared.name for declared in declarations_in(child) if child.type.endswith("declarator")}
        found |= free_names(child, bound)
    return found


def _introduced(node: Node) -> set[str]:
    """Names that are declared from here on: what stands under `#if` or behind a label stands in no scope of its own."""
    if node.type == "declaration":
        return {declared.name for declared in declared_by(node)}
    if node.type not in _TRANSPARENT:
        return set()
    return {name for child in node.children or () for name in _introduced(child)}


def _declared(kind: tuple[str, ...], node: Node) -> Declared:
    declarator, initial = node, None
    if node.type == "init_declarator" and node.children:
        declarator, initial = node.children[0], node.children[-1]
    names = (below.text for below in declarator.walk() if below.type == "identifier")
    return Declared(next(names, None) or "", kind, declarator, initial)


def _written(node: Node) -> Iterator[str]:
    children = node.children or ()
    match node.type:
        case "assignment_expression":
            yield _place(children[0].bare)
        case "update_expression" | "gnu_asm_expression":
            yield from (_place(child.bare) for child in children)
        case "pointer_expression" if children[0].text == "&":
            yield _place(children[1].bare)
        case "declaration":
            yield from (declared.name for declared in declared_by(node))
        case "call_expression" if (children[0].text or "").isupper():
            yield from (_place(argument.bare) for argument in children[1].children or ())


def _place(node: Node) -> str:
    children = node.children or ()
    if node.type == "identifier":
        return node.text or ""
    if node.type == "field_expression":
        return f".{children[-1].text}"
    if node.type == "subscript_expression":
        array = _place(children[0].bare)
        return array if array.startswith(".") else f"{array}[]"
    return ""
