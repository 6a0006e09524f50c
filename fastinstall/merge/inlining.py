"""Undo what upstream did when it gave names to expressions: `int width = image->xsize;` and then `width`.

Names are taken back only where that gives the very statements that the base has. So nothing rests on a guess about
what an expression yields, or when: what was the base's meaning is the base's meaning.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fastinstall.merge.align import STRUCTURES
from fastinstall.merge.declarations import Declared, declarations_in, declared_by, reads, writes
from fastinstall.merge.nodes import DIRECTIVE, Node

_SIMPLE = frozenset(("identifier", "field_expression", "subscript_expression", "number_literal"))
_PURE = _SIMPLE | frozenset(
    (
        "abstract_pointer_declarator",
        "binary_expression",
        "cast_expression",
        "field_identifier",
        "parenthesized_expression",
        "primitive_type",
        "type_descriptor",
        "type_identifier",
        "type_qualifier",
    )
)
_LEAVES = frozenset(("(", ")", "[", "]", "->", ".", "*", "+", "-", "/", "%", "<<", ">>", "&", "|", "^", "const"))

_Values = Callable[[Declared], Node]


def without_locals(upstream: Node, base: Node, opaque: frozenset[str] = frozenset()) -> Node:
    """Upstream's function without the names that it gave to expressions of the base.

    Args:
        upstream: a function definition.
        base: the same function before.
        opaque: names that macros use without being handed them.

    Returns:
        `upstream` itself where not all of its statements become either what they were or what the base has.
    """
    before = {(declared.name, _initial(declared)) for declared in declarations_in(base)}
    names = frozenset(
        declared.name for declared in declarations_in(upstream) if (declared.name, _initial(declared)) not in before
    )
    known = {leaf.loose: leaf for leaf in _leaves(base)}
    read_as = upstream.rewrite(_Inliner(names - opaque, _cast_value).inline)
    as_written = upstream.rewrite(_Inliner(names - opaque, _plain_value).inline)
    inlined = _restore(read_as, as_written, known)
    accepted = known.keys() | {leaf.loose for leaf in _leaves(upstream)}
    return inlined if all(leaf.loose in accepted for leaf in _leaves(inlined)) else upstream


def _initial(declared: Declared) -> tuple[str, ...]:
    return declared.initial.signature if declared.initial else ()


def _leaves(node: Node) -> Iterator[Node]:
    """Statements and conditions that a merge does not take apart."""
    if node.type not in STRUCTURES:
        yield node
        return
    for child in node.children or ():
        yield from _leaves(child)


def _restore(read_as: Node, as_written: Node, known: dict[tuple[str, ...], Node]) -> Node:
    """The base's own words wherever one of two forms of one tree says the same."""
    if as_written.type not in STRUCTURES:
        return known.get(read_as.loose) or known.get(as_written.loose) or as_written
    pairs = zip(read_as.children or (), as_written.children or (), strict=True)
    return Node(as_written.type, as_written.text, tuple(_restore(one, other, known) for one, other in pairs))


class _Inliner(NamedTuple):
    """Takes back the declarations of names that stand for one value throughout."""

    names: frozenset[str]
    value: _Values

    def inline(self, block: Node) -> Node:
        if block.type != "compound_statement":
            return block
        children = list(block.children or ())
        index = 0
        while index < len(children):
            declared = declared_by(children[index]) if children[index].type == "declaration" else ()
            rest = children[index + 1 :]
            if declared and all(one.name in self.names and _is_constant(one, rest) for one in declared):
                children[index:] = self._substitute(declared, rest)
            else:
                index += 1
        return Node(block.type, None, tuple(children)) if len(children) != len(block.children or ()) else block

    def _substitute(self, declared: Sequence[Declared], rest: Sequence[Node]) -> list[Node]:
        values: dict[str, Node] = {}

        def replace(node: Node) -> Node:
            return values.get(node.text or "", node) if node.type == "identifier" else node

        for one in declared:
            values[one.name] = self.value(one).rewrite(replace)
        return [statement.rewrite(replace) for statement in rest]


def _is_constant(declared: Declared, rest: Sequence[Node]) -> bool:
    if declared.initial is None or not _is_int_or_pointer(declared):
        return False
    if not all(node.type in _PURE or node.text in _LEAVES for node in declared.initial.walk()):
        return False
    if (reads(declared.initial) | {declared.name}) & writes(rest):
        return False
    directives = (node for statement in rest for node in statement.walk() if node.type == DIRECTIVE)
    return not any(declared.name in node.signature for node in directives)


def _is_int_or_pointer(declared: Declared) -> bool:
    if {"static", "volatile", "register"} & set(declared.type):
        return False
    if declared.declarator.type == "identifier":
        return [word for word in declared.type if word != "const"] == ["int"]
    return declared.declarator.signature == ("*", declared.name)


def _plain_value(declared: Declared) -> Node:
    """The expression as it stands."""
    if declared.initial is None:
        raise ValueError(declared.name)
    if declared.initial.type in _SIMPLE:
        return declared.initial
    return Node("parenthesized_expression", None, (Node("(", "("), declared.initial, Node(")", ")")))


def _cast_value(declared: Declared) -> Node:
    """The expression cast to the pointer that it is kept in, for `(UINT8)p[i]` of the base may be `name[i]` now."""
    value = _plain_value(declared)
    if declared.declarator.type == "identifier" or value.bare.type == "cast_expression":
        return value
    kind = tuple(Node("type_identifier", word) for word in declared.type if word != "const")
    pointer = Node("type_descriptor", None, (*kind, Node("abstract_pointer_declarator", None, (Node("*", "*"),))))
    cast = Node("cast_expression", None, (Node("(", "("), pointer, Node(")", ")"), value))
    return Node("parenthesized_expression", None, (Node("(", "("), cast, Node(")", ")")))
