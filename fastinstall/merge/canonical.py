"""A second try at a function that both sides changed: bring the three texts to one form first, then merge.

The form drops hints that decide nothing (`restrict`, assertions), declares loop counters before the loop where another
side does so, takes back names that upstream gave to expressions, and treats plain declarations at the top of the body
as a set. Where upstream's changes were such rewording, nothing of them is left in conflict.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastinstall.merge.declarations import Declared, declared_by, free_names
from fastinstall.merge.hoisting import with_counters_outside
from fastinstall.merge.inlining import without_locals
from fastinstall.merge.nodes import Node
from fastinstall.merge.scopes import require_same_scopes
from fastinstall.merge.syntax import parse_items
from fastinstall.merge.threeway import RESTRICT, ConflictError, merge_nodes

_EFFECTS = frozenset(("assignment_expression", "call_expression", "update_expression"))
_OWN_MEANING = frozenset(("array_declarator", "function_declarator", "storage_class_specifier", "init_declarator"))


def merge_canonical(base: Node, upstream: Node, kernels: Node, macros: Mapping[str, frozenset[str]]) -> Node:
    """The function with the changes of both, in the canonical form.

    Args:
        base: a function definition before both changes.
        upstream: with upstream's.
        kernels: with the fork's.
        macros: by the name of each macro of the file, the names that it uses without being handed them.

    Raises:
        ConflictError: the changes exclude each other in that form too.
    """
    base, upstream, kernels = (node.rewrite(_without_hints) for node in (base, upstream, kernels))
    base, upstream, kernels = with_counters_outside(base, upstream, kernels)
    upstream = without_locals(upstream, base, frozenset(name for names in macros.values() for name in names))
    old, ours, theirs = (_split(node) for node in (base, upstream, kernels))
    merged = merge_nodes(old.function, ours.function, theirs.function)
    choice = _Choice(
        settled=(old.plain & ours.plain & theirs.plain) | (ours.plain - old.plain) | (theirs.plain - old.plain),
        known=old.plain | ours.plain | theirs.plain,
    )
    function = _with_declarations(merged, choice, macros)
    require_same_scopes(base, upstream, kernels, function, macros)
    return function


@dataclass(frozen=True, slots=True, order=True)
class _Plain:
    """A declaration without initial value at the top of the body: `kind declarator;`."""

    kind: str
    declarator: str
    name: str


@dataclass(frozen=True, slots=True)
class _Split:
    """A function without its plain declarations, and these."""

    function: Node
    plain: frozenset[_Plain]


@dataclass(frozen=True, slots=True)
class _Choice:
    """Plain declarations that the merge can use: those that the changes leave, and all that any side has."""

    settled: frozenset[_Plain]
    known: frozenset[_Plain]

    def named(self, name: str) -> _Plain:
        """The one declaration of a name.

        Raises:
            ConflictError: the sides declare it differently, and not one of them alone changed that.
        """
        options = [plain for plain in self.known if plain.name == name]
        if len(options) > 1:
            options = [plain for plain in options if plain in self.settled]
        if len(options) != 1:
            raise ConflictError(f"both changed the declaration of {name}")
        return options[0]


def _without_hints(node: Node) -> Node:
    kept = tuple(child for child in node.children or () if not _is_hint(child, node))
    return node if len(kept) == len(node.children or ()) else Node(node.type, None, kept)


def _is_hint(node: Node, parent: Node) -> bool:
    if node.type == "type_qualifier":
        return node.signature[0] in RESTRICT
    if node.signature[:2] != ("assert", "(") or parent.type != "compound_statement" or not node.children:
        return False
    asserted = (node.children[0].children or (node,))[-1]
    return not any(below.type in _EFFECTS for below in asserted.walk())


def _split(function: Node) -> _Split:
    *head, body = function.children or (function,)
    plain: set[_Plain] = set()
    rest: list[Node] = []
    for statement in body.children or ():
        if statement.type == "declaration" and not any(below.type in _OWN_MEANING for below in statement.walk()):
            plain.update(map(_plain, declared_by(statement)))
        else:
            rest.append(statement)
    return _Split(Node(function.type, None, (*head, Node(body.type, None, tuple(rest)))), frozenset(plain))


def _plain(declared: Declared) -> _Plain:
    return _Plain(" ".join(declared.type), " ".join(declared.declarator.signature), declared.name)


def _with_declarations(function: Node, choice: _Choice, macros: Mapping[str, frozenset[str]]) -> Node:
    *head, body = function.children or (function,)
    brace, *statements = body.children or ()
    names = _needed(Node(body.type, None, tuple(statements)), macros)
    chosen = sorted(choice.named(name) for name in {plain.name for plain in choice.known} & names)
    return Node(function.type, None, (*head, Node(body.type, None, (brace, *_declare(chosen), *statements))))


def _needed(body: Node, macros: Mapping[str, frozenset[str]]) -> set[str]:
    names = free_names(body)
    return names.union(*(macros[name] for name in names & macros.keys()))


def _declare(plain: Iterable[_Plain]) -> Iterable[Node]:
    return (parse_items(f"{one.kind} {one.declarator};").items[0].node for one in plain)
