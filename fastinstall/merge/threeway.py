"""Merge two changes of one syntax tree, statement by statement, or say that they exclude each other.

Expressions are not taken apart: an expression that both sides changed is a conflict. So is everything whose order
could matter and is not known.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from fastinstall.merge.align import STRUCTURES, align
from fastinstall.merge.nodes import Node

RESTRICT = frozenset(("restrict", "__restrict", "__restrict__"))

_LOCK = "MUTEX_LOCK"
_UNLOCK = "MUTEX_UNLOCK"
_LEAVING = frozenset(("return_statement", "goto_statement", "break_statement", "continue_statement"))
_TYPES = frozenset(
    (
        "enum_specifier",
        "primitive_type",
        "sized_type_specifier",
        "storage_class_specifier",
        "struct_specifier",
        "type_identifier",
        "type_qualifier",
        "union_specifier",
    )
)
_SHOWN = 12


class ConflictError(Exception):
    """Both sides changed the same thing; the message says what. It never leaves the merge."""


def merge_nodes(base: Node, upstream: Node, kernels: Node) -> Node:
    """The tree with the changes of both.

    Raises:
        ConflictError: the changes exclude each other, or it cannot be seen that they don't.
    """
    if upstream.signature == base.signature:
        return kernels
    if kernels.signature in (base.signature, upstream.signature):
        return upstream
    if upstream.loose == base.loose:
        return kernels
    if kernels.loose == base.loose:
        return upstream
    if not base.type == upstream.type == kernels.type or base.type not in STRUCTURES:
        raise ConflictError(f"both changed {_show(base)}")
    _check_types(base, upstream, kernels)
    return Node(base.type, None, tuple(_merge_children(base, upstream, kernels)))


def _check_types(base: Node, upstream: Node, kernels: Node) -> None:
    """A type that one side changed is not put on names of the other, nor an exclusive pointer on another's address."""
    if base.type == "init_declarator" and RESTRICT & {*upstream.signature, *kernels.signature}:
        raise ConflictError(f"one side made {_show(base)} exclusive, and the other changed it")
    if base.type == "declaration" and len({_type_of(node) for node in (base, upstream, kernels)}) > 1:
        raise ConflictError(f"one side changed the type in {_show(base)}, and the other something else")


def _type_of(declaration: Node) -> tuple[str, ...]:
    children = declaration.children or ()
    return tuple(token for child in children if child.type in _TYPES for token in child.signature)


@dataclass(slots=True)
class _Side:
    """The children of one side, and how far they have been used."""

    children: Sequence[Node]
    counterparts: dict[int, int]
    used: int = 0

    def counterpart(self, index: int) -> Node | None:
        position = self.counterparts.get(index)
        return None if position is None else self.children[position]

    def take_until(self, index: int | None) -> Sequence[Node]:
        """What stands before the counterpart of `index` (None: before the end) and was not used yet."""
        position = len(self.children) if index is None else self.counterparts[index]
        taken = self.children[self.used : position]
        self.used = position + 1
        return taken


@dataclass(slots=True)
class _Gap:
    """What happened between two children that are on both sides."""

    upstream: list[Node] = field(default_factory=list)
    kernels: list[Node] = field(default_factory=list)
    upstream_deleted: bool = False
    kernels_deleted: bool = False


def _merge_children(base: Node, upstream: Node, kernels: Node) -> Iterator[Node]:
    old = base.children or ()
    ours = _Side(upstream.children or (), align(old, upstream.children or ()))
    theirs = _Side(kernels.children or (), align(old, kernels.children or ()))
    gap = _Gap()
    for index, child in enumerate(old):
        one, other = ours.counterpart(index), theirs.counterpart(index)
        if one is not None:
            gap.upstream.extend(ours.take_until(index))
        if other is not None:
            gap.kernels.extend(theirs.take_until(index))
        if one is not None and other is not None:
            yield from _fill(gap, base)
            gap = _Gap()
            yield merge_nodes(child, one, other)
            continue
        _check_deletion(child, one or other)
        gap.upstream_deleted |= one is None
        gap.kernels_deleted |= other is None
    gap.upstream.extend(ours.take_until(None))
    gap.kernels.extend(theirs.take_until(None))
    yield from _fill(gap, base)


def _check_deletion(child: Node, remaining: Node | None) -> None:
    if remaining is not None and child.signature != remaining.signature and child.loose != remaining.loose:
        raise ConflictError(f"one side changed and the other removed {_show(child)}")


def _fill(gap: _Gap, parent: Node) -> Sequence[Node]:
    """What stands between two common children in the end."""
    ours, theirs = gap.upstream, gap.kernels
    if _signatures(ours) == _signatures(theirs):
        return ours
    if ours and theirs and not gap.upstream_deleted and (locked := _lock(ours, theirs)):
        return locked
    replaced = (gap.upstream_deleted and theirs) or (gap.kernels_deleted and ours)
    if replaced and not all(map(_is_lock, ours + theirs)):
        raise ConflictError(f"one side removed what stands where the other put {_show(*ours, *theirs)}")
    return _concatenate(ours, theirs, parent) if ours and theirs else ours or theirs


def _lock(ours: list[Node], theirs: list[Node]) -> Sequence[Node]:
    """A lock that upstream put goes before what the kernels put, its release behind; empty if it is about neither."""
    if _leaves(theirs):
        return ()
    if all(_calls(node, _LOCK) for node in ours):
        declared = [node for node in theirs if _is_plain_declaration(node)]
        return (*declared, *ours, *(node for node in theirs if node not in declared))
    return (*theirs, *ours) if all(_calls(node, _UNLOCK) for node in ours) else ()


def _concatenate(ours: list[Node], theirs: list[Node], parent: Node) -> Sequence[Node]:
    """Both sides put something at one place: right only where the order says nothing."""
    declared = all(node.type == "declaration" for node in ours + theirs)
    if declared and not _identifiers(ours) & _identifiers(theirs):
        return [*ours, *theirs]
    if parent.type == "initializer_list" and all(map(_is_named_entry, ours + theirs)):
        return [*ours, *theirs]
    raise ConflictError(f"upstream put {_show(*ours)} where the kernels put {_show(*theirs)}")


def _signatures(nodes: Collection[Node]) -> list[tuple[str, ...]]:
    return [node.signature for node in nodes]


def _is_lock(node: Node) -> bool:
    return _calls(node, _LOCK) or _calls(node, _UNLOCK)


def _calls(node: Node, function: str) -> bool:
    return node.type == "expression_statement" and node.signature[:1] == (function,)


def _leaves(nodes: Collection[Node]) -> bool:
    """Whether control can leave the place in the middle of it."""
    return any(below.type in _LEAVING for node in nodes for below in node.walk())


def _is_plain_declaration(node: Node) -> bool:
    return node.type == "declaration" and not any(child.type == "init_declarator" for child in node.children or ())


def _identifiers(nodes: Collection[Node]) -> set[str]:
    return {below.text for node in nodes for below in node.walk() if below.type == "identifier" and below.text}


def _is_named_entry(node: Node) -> bool:
    """Whether it is an entry of a table that is told from the others by its name, or a comma between such."""
    if node.text == ",":
        return True
    entry = node.children or ()
    return node.type == "initializer_list" and len(entry) > 1 and entry[1].type == "string_literal"


def _show(*nodes: Node) -> str:
    shown = [token for node in nodes for token in node.signature]
    dots = " ..." if len(shown) > _SHOWN else ""
    return f"`{' '.join(shown[:_SHOWN]).strip()}{dots}`"
