"""A syntax tree of C without comments and white space: what two texts are compared and merged by.

It is not tree-sitter's tree: preprocessor lines are single nodes with their text, and string and character literals
are leaves.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from fastinstall.merge.lexer import tokens

DIRECTIVE = "directive"

_COMPOUND = frozenset(
    (
        "assignment_expression",
        "binary_expression",
        "cast_expression",
        "comma_expression",
        "conditional_expression",
        "pointer_expression",
        "sizeof_expression",
        "unary_expression",
        "update_expression",
    )
)
_BYTES = (("char",), ("unsigned", "char"), ("signed", "char"), ("UINT8",), ("INT8",), ("uint8_t",), ("int8_t",))


@dataclass(slots=True, eq=False)
class Node:
    """One node; never changed once it is made, and therefore shared freely. What is computed from it is kept.

    Attributes:
        type: tree-sitter's name of the kind ("if_statement", "identifier"), or "directive", or "atomic".
        text: of a leaf, or None if the node has children.
        children: in order; None for a leaf.
    """

    type: str
    text: str | None = None
    children: "tuple[Node, ...] | None" = None
    _signature: tuple[str, ...] | None = field(init=False, repr=False, default=None)
    _loose: tuple[str, ...] | None = field(init=False, repr=False, default=None)

    @property
    def signature(self) -> tuple[str, ...]:
        """Its tokens: two nodes with the same ones mean the same."""
        if self._signature is None:
            inner = chain.from_iterable([child.signature for child in self.children or ()])
            self._signature = self._own_tokens() or tuple(inner)
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

    def walk(self) -> Iterator["Node"]:
        """This node and all below it, in the order of the text."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            if node.children:
                pending.extend(reversed(node.children))

    def rewrite(self, change: "Callable[[Node], Node]") -> "Node":
        """A copy with `change` applied to every node, from the leaves up; what does not change is shared."""
        node = self
        if self.children:
            children = tuple(child.rewrite(change) for child in self.children)
            if any(one is not other for one, other in zip(children, self.children, strict=True)):
                node = Node(self.type, None, children)
        return change(node)

    @property
    def bare(self) -> "Node":
        """What stands in the parentheses, if this node is a parenthesized expression."""
        node = self
        while node.type == "parenthesized_expression" and node.children and len(node.children) == 3:  # noqa: PLR2004 ("(", it, ")")
            node = node.children[1]
        return node

    def _own_tokens(self) -> tuple[str, ...]:
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
        if self.type == "subscript_expression" and (cast := _byte_pointer(children[0])):
            prefix, children = ("(", "(", *cast[0], ")"), (cast[1], *children[1:])
        if self.type == "argument_list":
            children = tuple(map(_address, children))
        inner = tuple(token for child in children for token in child.loose)
        if prefix:
            return (*prefix, *inner, ")")
        return ("(", *inner, ")") if self.type in _COMPOUND else inner


def _byte_pointer(node: Node) -> tuple[tuple[str, ...], Node] | None:
    """The kind of byte, and the pointer, of a cast to a pointer to bytes."""
    cast = node.bare
    if cast.type != "cast_expression" or not cast.children:
        return None
    kind = cast.children[1].signature
    if kind[-1] != "*" or kind[:-1] not in _BYTES:
        return None
    return kind[:-1], cast.children[-1].bare


def _address(argument: Node) -> Node:
    """An argument `(UINT8 *)p + i` as `p + i`."""
    total = argument.bare
    if total.type != "binary_expression" or not total.children or total.children[1].text != "+":
        return argument
    cast = _byte_pointer(total.children[0])
    return Node(total.type, None, (cast[1], *total.children[1:])) if cast else argument
