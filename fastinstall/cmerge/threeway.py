"""Merge two changes of one syntax tree, statement by statement, or report that they conflict.

Expressions are not taken apart: an expression that both sides changed is a conflict. So is everything whose order could
matter and is not known.

- Children of a node are matched by the same tokens first; between those, statements that update the same thing; between
  those, nodes of the same type: in full where the types are the same one by one, else only structures that have enough
  in common.
- Items are matched by kind and name. If several have one name and some were added or removed, those with the same
  tokens belong together. If a function is gone and a similar one with a similar name has come, it was renamed.
- Every name of a merged function has to mean what it meant on its own side: statements can be merged without meeting,
  and yet one side's name be captured by the other's declaration, or lose its own.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from fastinstall.cmerge.declarations import declarations_in, find_free_names
from fastinstall.cmerge.syntax import BLOCKS, DIRECTIVE, Item, ItemKey, SyntaxNode

RESTRICT = frozenset(("restrict", "__restrict", "__restrict__"))

_LOCK = "MUTEX_LOCK"
_UNLOCK = "MUTEX_UNLOCK"
_LEAVING = frozenset(("return_statement", "goto_statement", "break_statement", "continue_statement"))
_TYPES = frozenset[str]().union(
    ("enum_specifier", "primitive_type", "sized_type_specifier", "storage_class_specifier"),
    ("struct_specifier", "type_identifier", "type_qualifier", "union_specifier"),
)
_SHOWN = 12


class ConflictError(Exception):
    """Both sides changed the same thing; the message says what. It never leaves the merge."""


def merge_nodes(base: SyntaxNode, upstream: SyntaxNode, kernels: SyntaxNode) -> SyntaxNode:
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
    return SyntaxNode(base.type, None, tuple(_merge_children(base, upstream, kernels)))


def _check_types(base: SyntaxNode, upstream: SyntaxNode, kernels: SyntaxNode) -> None:
    """A type that one side changed is not put on names of the other, nor an exclusive pointer on another's address."""
    if base.type == "init_declarator" and RESTRICT & {*upstream.signature, *kernels.signature}:
        raise ConflictError(f"one side made {_show(base)} exclusive, the other changed it")
    if base.type == "declaration" and len({_list_type_tokens(node) for node in (base, upstream, kernels)}) > 1:
        raise ConflictError(f"one side changed the type in {_show(base)}, the other changed something else")


def _list_type_tokens(declaration: SyntaxNode) -> tuple[str, ...]:
    children = declaration.children or ()
    return tuple(token for child in children if child.type in _TYPES for token in child.signature)


@dataclass(slots=True)
class _Side:
    """The children of one side, and how far they have been used."""

    children: Sequence[SyntaxNode]
    counterparts: dict[int, int]
    used: int = 0

    def counterpart(self, index: int) -> SyntaxNode | None:
        position = self.counterparts.get(index)
        return None if position is None else self.children[position]

    def take_until(self, index: int | None) -> Sequence[SyntaxNode]:
        """What stands before the counterpart of `index` (None: before the end) and was not used yet."""
        position = len(self.children) if index is None else self.counterparts[index]
        taken = self.children[self.used : position]
        self.used = position + 1
        return taken


@dataclass(slots=True)
class _Gap:
    """What happened between two children that are on both sides."""

    upstream: list[SyntaxNode] = field(default_factory=list)
    kernels: list[SyntaxNode] = field(default_factory=list)
    upstream_deleted: bool = False
    kernels_deleted: bool = False


def _merge_children(base: SyntaxNode, upstream: SyntaxNode, kernels: SyntaxNode) -> Iterator[SyntaxNode]:
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


def _check_deletion(child: SyntaxNode, remaining: SyntaxNode | None) -> None:
    if remaining is not None and child.signature != remaining.signature and child.loose != remaining.loose:
        raise ConflictError(f"one side changed and the other removed {_show(child)}")


def _fill(gap: _Gap, parent: SyntaxNode) -> Sequence[SyntaxNode]:
    """What stands between two common children in the end."""
    ours, theirs = gap.upstream, gap.kernels
    if [node.signature for node in ours] == [node.signature for node in theirs]:
        return ours
    if ours and theirs and not gap.upstream_deleted and (locked := _lock(ours, theirs)):
        return locked
    replaced = (gap.upstream_deleted and theirs) or (gap.kernels_deleted and ours)
    if replaced and not all(map(_is_lock, ours + theirs)):
        raise ConflictError(f"one side removed what stands where the other put {_show(*ours, *theirs)}")
    return _concatenate(ours, theirs, parent) if ours and theirs else ours or theirs


def _lock(ours: list[SyntaxNode], theirs: list[SyntaxNode]) -> Sequence[SyntaxNode]:
    """A lock that upstream put goes before what the kernels put, its release behind; empty if it is about neither."""
    if _has_exit(theirs):
        return ()
    if all(_is_call(node, _LOCK) for node in ours):
        declared = [node for node in theirs if _is_plain_declaration(node)]
        return (*declared, *ours, *(node for node in theirs if node not in declared))
    return (*theirs, *ours) if all(_is_call(node, _UNLOCK) for node in ours) else ()


def _concatenate(ours: list[SyntaxNode], theirs: list[SyntaxNode], parent: SyntaxNode) -> Sequence[SyntaxNode]:
    """Both sides put something at one place: right only where the order says nothing."""
    declared = all(node.type == "declaration" for node in ours + theirs)
    if declared and not _list_identifiers(ours) & _list_identifiers(theirs):
        return [*ours, *theirs]
    if parent.type == "initializer_list" and all(map(_is_named_entry, ours + theirs)):
        return [*ours, *theirs]
    raise ConflictError(f"upstream put {_show(*ours)} where the kernels put {_show(*theirs)}")


def _is_lock(node: SyntaxNode) -> bool:
    return _is_call(node, _LOCK) or _is_call(node, _UNLOCK)


def _is_call(node: SyntaxNode, function: str) -> bool:
    return node.type == "expression_statement" and node.signature[:1] == (function,)


def _has_exit(nodes: Collection[SyntaxNode]) -> bool:
    """Whether control can leave the place in the middle of it."""
    return any(below.type in _LEAVING for node in nodes for below in node.walk())


def _is_plain_declaration(node: SyntaxNode) -> bool:
    return node.type == "declaration" and not any(child.type == "init_declarator" for child in node.children or ())


def _list_identifiers(nodes: Collection[SyntaxNode]) -> set[str]:
    return {below.text for node in nodes for below in node.walk() if below.type == "identifier" and below.text}


def _is_named_entry(node: SyntaxNode) -> bool:
    """Whether it is an entry of a table that is told from the others by its name, or a comma between such."""
    if node.text == ",":
        return True
    entry = node.children or ()
    return node.type == "initializer_list" and len(entry) > 1 and entry[1].type == "string_literal"


def _show(*nodes: SyntaxNode) -> str:
    shown = [token for node in nodes for token in node.signature]
    dots = " ..." if len(shown) > _SHOWN else ""
    return f"`{' '.join(shown[:_SHOWN]).strip()}{dots}`"


STRUCTURES = BLOCKS.union(
    ("function_definition", "compound_statement", "if_statement", "else_clause", "for_statement"),
    ("while_statement", "do_statement", "switch_statement", "case_statement", "labeled_statement"),
    ("declaration", "init_declarator", "initializer_list"),
)

_ENOUGH = 0.35
_ENTRY = 6

_AlignmentGap = Callable[[Sequence[SyntaxNode], Sequence[SyntaxNode]], dict[int, int]]


def align(left: Sequence[SyntaxNode], right: Sequence[SyntaxNode]) -> dict[int, int]:
    """Counterparts, as positions in `right` by positions in `left`; both ascend together."""
    return _align_by(lambda node: node.signature, _align_updates, left, right)


def similarity(left: SyntaxNode, right: SyntaxNode) -> float:
    """How much two nodes have in common: 0 nothing, 1 all tokens in the same order."""
    return SequenceMatcher(None, left.signature, right.signature, autojunk=False).ratio()


def _align_updates(left: Sequence[SyntaxNode], right: Sequence[SyntaxNode]) -> dict[int, int]:
    return _align_by(_label, _align_types, left, right)


def _align_types(left: Sequence[SyntaxNode], right: Sequence[SyntaxNode]) -> dict[int, int]:
    types = [node.type for node in left]
    if types == [node.type for node in right]:
        return {index: index for index in range(len(left))}
    pairs = _align_by(lambda node: node.type, None, left, right)
    return {one: other for one, other in pairs.items() if _is_similar(left[one], right[other])}


def _align_by(
    label: Callable[[SyntaxNode], Hashable],
    within_gaps: _AlignmentGap | None,
    left: Sequence[SyntaxNode],
    right: Sequence[SyntaxNode],
) -> dict[int, int]:
    """Pair what bears the same label, and leave what stands between the pairs to `within_gaps`."""
    matcher = SequenceMatcher(None, [label(node) for node in left], [label(node) for node in right], autojunk=False)
    pairs: dict[int, int] = {}
    end, other_end = 0, 0
    for start, other_start, size in matcher.get_matching_blocks():
        if within_gaps and end < start and other_end < other_start:
            inner = within_gaps(left[end:start], right[other_end:other_start])
            pairs.update({end + one: other_end + other for one, other in inner.items()})
        pairs.update({start + step: other_start + step for step in range(size)})
        end, other_end = start + size, other_start + size
    return pairs


def _is_similar(left: SyntaxNode, right: SyntaxNode) -> bool:
    if left.type not in STRUCTURES or not left.children or not right.children:
        return False
    return similarity(left, right) > _ENOUGH


def _label(node: SyntaxNode) -> Hashable:
    """What a statement updates, or what tells an entry of a table from the others."""
    if not node.children:
        return (node.type, node.text if node.type == DIRECTIVE else None)
    name = _NAMES.get(node.type)
    return (node.type, *name(node.children)) if name else (node.type,)


def _make_update_key(expression: SyntaxNode) -> tuple[Hashable, ...]:
    if expression.type in ("assignment_expression", "call_expression") and expression.children:
        return (expression.type, expression.children[0].signature)
    return (expression.type,)


_NAMES: dict[str, Callable[[Sequence[SyntaxNode]], tuple[Hashable, ...]]] = {
    "expression_statement": lambda children: _make_update_key(children[0]),
    "declaration": lambda children: children[-2].signature[:2] if len(children) > 1 else (),
    "if_statement": lambda children: children[1].signature,
    "while_statement": lambda children: children[1].signature,
    "function_definition": lambda children: children[-2].signature,
    "initializer_list": lambda children: tuple(token for child in children for token in child.signature)[:_ENTRY],
}


_LIKE_NAME = 0.8
_LIKE_TOKENS = 0.5


def index_by_base_key(base: Sequence[Item], version: Sequence[Item], *, added: str) -> dict[ItemKey, Item]:
    """The items of a version in their order, each under the key of its counterpart, or under its own.

    Args:
        base: items of what both sides started from.
        version: items of one side.
        added: a word that tells an item that this side added to several of one name from what the other side added.
    """
    groups: dict[tuple[str, str], tuple[list[Item], list[Item]]] = defaultdict(lambda: ([], []))
    for side, found in enumerate((base, version)):
        for item in found:
            groups[item.key.kind, item.key.name][side].append(item)
    keys: dict[ItemKey, ItemKey] = {}
    for old, items in groups.values():
        if old and items and len(old) != len(items):
            keys.update(_align_functions(old, items, added))
    return {keys.get(item.key, item.key): item for item in version}


def find_renamed_functions(base: Iterable[Item], version: Iterable[Item]) -> dict[ItemKey, ItemKey]:
    """Keys in the base, by the keys in the version, of functions that were given another name."""
    before = {item.key: item for item in base if item.key.kind == "function"}
    after = {item.key: item for item in version if item.key.kind == "function"}
    arrived = [item for key, item in after.items() if key not in before]
    renamed: dict[ItemKey, ItemKey] = {}
    for gone in (item for key, item in before.items() if key not in after):
        best = max(arrived, key=lambda item: (_compare_names(gone, item), _compare_tokens(gone, item)), default=None)
        if best and _compare_names(gone, best) > _LIKE_NAME and _compare_tokens(gone, best) > _LIKE_TOKENS:
            renamed[best.key] = gone.key
            arrived.remove(best)
    return renamed


def _align_functions(old: Sequence[Item], items: Sequence[Item], added: str) -> dict[ItemKey, ItemKey]:
    pairs = align([item.node for item in old], [item.node for item in items])
    keys = {items[other].key: old[one].key for one, other in pairs.items()}
    for key in (item.key for item in items):
        keys.setdefault(key, ItemKey(key.kind, f"{key.name} ({added})", key.occurrence))
    return keys


def _compare_names(one: Item, other: Item) -> float:
    return SequenceMatcher(None, one.key.name, other.key.name).ratio()


def _compare_tokens(one: Item, other: Item) -> float:
    return SequenceMatcher(None, one.signature, other.signature, autojunk=False).quick_ratio()


Macros = Mapping[str, frozenset[str]]


def require_same_scopes(
    base: SyntaxNode, upstream: SyntaxNode, kernels: SyntaxNode, merged: SyntaxNode, macros: Macros
) -> None:
    """Refuse a merge in which a name may have changed its meaning.

    Args:
        base: a function definition before both changes.
        upstream: with upstream's.
        kernels: with the fork's.
        merged: with both.
        macros: by the name of each macro of the file, the names that it uses without being handed them.

    Raises:
        ConflictError: a name was local to the function on one side and is not in the merge, or the other way round;
            or it is declared more often than on both; or one side declared a name anew of which the other made more
            or less use.
    """
    old, ours, theirs, result = (_Scope.of(node, macros) for node in (base, upstream, kernels, merged))
    for side in (ours, theirs):
        if changed := (result.free & side.local) | (result.local & side.free):
            raise ConflictError(f"{min(changed)} would mean something else than on one side")
    if twice := {name for name, times in (result.declared - (ours.declared | theirs.declared)).items() if times}:
        raise ConflictError(f"{min(twice)} would be declared more often than on either side")
    for one, other in ((ours, theirs), (theirs, ours)):
        if caught := {name for name in one.declared_since(old) if other.words[name] != old.words[name]}:
            raise ConflictError(f"{min(caught)} is redeclared by one side and used by the other")


@dataclass(frozen=True, slots=True)
class _Scope:
    """Names of a function.

    Attributes:
        free: that are used and declared outside of it, not inside.
        local: that are declared inside, and not used from outside too.
        declared: how often each is declared inside.
        words: how often each stands anywhere in it.
    """

    free: frozenset[str]
    local: frozenset[str]
    declared: Counter[str]
    words: Counter[str]

    @classmethod
    def of(cls, function: SyntaxNode, macros: Macros) -> "_Scope":
        declared = Counter(one.name for one in declarations_in(function))
        used = find_free_names(function)
        used |= {name for macro in used & macros.keys() for name in macros[macro]} - declared.keys()
        return cls(frozenset(used), frozenset(declared.keys() - used), declared, Counter(function.signature))

    def declared_since(self, base: "_Scope") -> set[str]:
        """Names that are declared more often than before."""
        return {name for name, times in self.declared.items() if times > base.declared[name]}
