"""Merge one file, item by item, from the base, upstream's version and the fork's, and write it as C source.

What one side changed is taken from that side. What both changed is merged statement by statement, then in a canonical
form; if that fails, upstream's text stays. Source is written from the syntax tree, one statement a line, without
comments, which the tree does not have.

Names that mean something else after the merge are found: the fork may change what a helper yields (or remove it)
together with all that uses it there. What upstream has come to use it since was written for the helper as it was: no
statement of both sides meets, and yet the merge would be wrong.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from fastinstall.cmerge.canonical import merge_canonical
from fastinstall.cmerge.declarations import names_in_macros
from fastinstall.cmerge.documents import TextOrigin
from fastinstall.cmerge.syntax import ATOMIC, DIRECTIVE, Item, ItemKey, SyntaxNode, parse_items
from fastinstall.cmerge.threeway import (
    ConflictError,
    find_renamed_functions,
    index_by_base_key,
    merge_nodes,
    require_same_scopes,
)
from fastinstall.core.values import immutable

Macros = Mapping[str, frozenset[str]]


@immutable
class Versions:
    """One item on the three sides, None on a side that lacks it.

    Attributes:
        base: before both changes.
        upstream: in the text that is merged into.
        kernels: in the fork.
    """

    base: Item | None
    upstream: Item | None
    kernels: Item | None

    @property
    def names(self) -> tuple[str, ...]:
        """Its names, upstream's first: a function may have been renamed."""
        items = (self.upstream, self.kernels, self.base)
        return tuple(dict.fromkeys(item.key.name for item in items if item))


@immutable
class ItemDecision:
    """What becomes of an item.

    Attributes:
        text: its text, or None if it does not exist.
        origin: where that comes from.
        reason: why.
    """

    text: str | None
    origin: TextOrigin
    reason: str


def decide(versions: Versions, macros: Macros, *, kept: bool) -> ItemDecision:
    """The text of one item, and why it is that.

    Args:
        versions: the item.
        macros: as `merge_canonical` takes them.
        kept: whether a rule says that upstream's stays.
    """
    base, upstream, kernels = map(_get_signature, (versions.base, versions.upstream, versions.kernels))
    if kernels in (base, upstream):
        return _choose_upstream(versions, TextOrigin.UPSTREAM, "the fork did not change it, or made upstream's change")
    if kept:
        return _choose_upstream(versions, TextOrigin.KEPT, "a rule keeps upstream's")
    if upstream == base:
        return _choose_fork(versions)
    if None in (base, upstream, kernels):
        return conflict(versions, _explain_missing_version(versions))
    return _merge(versions, macros)


def conflict(versions: Versions, reason: str) -> ItemDecision:
    """Upstream's item, because the fork's change cannot be merged into it."""
    return _choose_upstream(versions, TextOrigin.CONFLICT, reason)


def _get_signature(item: Item | None) -> tuple[str, ...] | None:
    return item.signature if item else None


def _choose_upstream(versions: Versions, origin: TextOrigin, reason: str) -> ItemDecision:
    return ItemDecision(text=versions.upstream.text if versions.upstream else None, origin=origin, reason=reason)


def _choose_fork(versions: Versions) -> ItemDecision:
    text, reason = None, "the fork removed it and upstream left it unchanged"
    if versions.kernels is not None:
        done = "changed it and upstream did not" if versions.base else "added it"
        text, reason = versions.kernels.text, f"the fork {done}"
    return ItemDecision(text=text, origin=TextOrigin.KERNELS, reason=reason)


def _explain_missing_version(versions: Versions) -> str:
    if versions.base is None:
        return "upstream and the fork added different versions of it"
    return "the fork removed what upstream changed" if versions.upstream else "upstream removed what the fork changed"


def _merge(versions: Versions, macros: Macros) -> ItemDecision:
    base, upstream, kernels = (item.node for item in (versions.base, versions.upstream, versions.kernels) if item)
    if ATOMIC in (base.type, upstream.type, kernels.type):
        return conflict(versions, "upstream and the fork changed it, and it cannot be parsed")
    is_function = base.type == "function_definition"
    try:
        merged = merge_nodes(base, upstream, kernels)
        if is_function:
            require_same_scopes(base, upstream, kernels, merged, macros)
        text, origin, reason = _write(merged), TextOrigin.MERGED, "both changed it, in different places"
    except ConflictError as first:
        if not is_function:
            return conflict(versions, str(first))
        try:
            text = _write(merge_canonical(base, upstream, kernels, macros))
        except ConflictError as error:
            return conflict(versions, str(error))
        origin, reason = TextOrigin.CANONICAL, f"both changed it; upstream's rewording undone: {first}"
    return ItemDecision(text=text, origin=origin, reason=reason)


def _write(node: SyntaxNode) -> str:
    text = emit(node)
    if not is_read_back(node, text):
        raise ConflictError("the merged text would be parsed differently than intended")
    return text.rstrip()


_LF, _CRLF = "\n", "\r\n"
_TAKEN = (TextOrigin.KERNELS, TextOrigin.MERGED, TextOrigin.CANONICAL)


@immutable
class ItemOutcome:
    """What became of one item.

    Attributes:
        kind: as in its key.
        name: as in the merged text.
        origin: where its text came from.
        reason: why.
    """

    kind: str
    name: str
    origin: TextOrigin
    reason: str

    @property
    def is_taken(self) -> bool:
        """Whether something of the fork is in it."""
        return self.origin in _TAKEN


@immutable
class MergedText:
    """A merged file.

    Attributes:
        text: C source; upstream's to the byte where nothing was merged into it.
        outcomes: of the items that the fork changed, added or removed.
    """

    text: str
    outcomes: tuple[ItemOutcome, ...]


def merge_texts(base: str, upstream: str, kernels: str, keep: Collection[str] = ()) -> MergedText:
    """Merge the changes from base to kernels into upstream's text.

    Args:
        base: the text that both started from.
        upstream: the text that is merged into.
        kernels: the fork's text.
        keep: names of items that stay upstream's.
    """
    return _merge_texts(base, upstream, kernels, frozenset(keep))


@lru_cache(maxsize=64)
def _merge_texts(base: str, upstream: str, kernels: str, keep: frozenset[str]) -> MergedText:
    old, ours, theirs = (text.replace(_CRLF, _LF) for text in (base, upstream, kernels))
    sides = _Sides.of(old, ours, theirs)
    decisions = _decide_all(sides, keep)
    outcomes = tuple(
        ItemOutcome(kind=key.kind, name=sides.versions(key).names[0], origin=decision.origin, reason=decision.reason)
        for key, decision in decisions.items()
        if decision.origin is not TextOrigin.UPSTREAM
    )
    if not any(outcome.is_taken for outcome in outcomes):
        return MergedText(text=upstream, outcomes=outcomes)
    alone = old == ours and all(outcome.is_taken for outcome in outcomes)
    text = theirs if alone else _assemble(sides, decisions)
    ends = _CRLF if 0 < upstream.count(_LF) == upstream.count(_CRLF) else _LF
    return MergedText(text=text.replace(_LF, ends), outcomes=outcomes)


@immutable
class _Sides:
    """The items of the three texts, by the keys of the base."""

    base: dict[ItemKey, Item]
    upstream: dict[ItemKey, Item]
    kernels: dict[ItemKey, Item]
    tail: str
    macros: Macros

    @classmethod
    def of(cls, base: str, upstream: str, kernels: str) -> "_Sides":
        old, ours, theirs = (parse_items(text) for text in (base, upstream, kernels))
        renamed = find_renamed_functions(old.items, ours.items)
        by_key = index_by_base_key(old.items, ours.items, added="upstream")
        return cls(
            base={item.key: item for item in old.items},
            upstream={renamed.get(item.key, key): item for key, item in by_key.items()},
            kernels=index_by_base_key(old.items, theirs.items, added="the fork"),
            tail=ours.tail,
            macros=names_in_macros((*old.items, *ours.items, *theirs.items)),
        )

    @property
    def keys(self) -> tuple[ItemKey, ...]:
        """Of all items: upstream's in their order, then what the fork added, then what upstream removed."""
        return tuple(dict.fromkeys((*self.upstream, *self.kernels, *self.base)))

    def versions(self, key: ItemKey) -> Versions:
        return Versions(base=self.base.get(key), upstream=self.upstream.get(key), kernels=self.kernels.get(key))


def _decide_all(sides: _Sides, keep: Collection[str]) -> dict[ItemKey, ItemDecision]:
    items = {key: sides.versions(key) for key in sides.keys}
    kept = {key: not set(keep).isdisjoint(versions.names) for key, versions in items.items()}
    decisions = {key: decide(versions, sides.macros, kept=kept[key]) for key, versions in items.items()}
    wrong = find_changed_meanings(versions for key, versions in items.items() if not kept[key])
    for key, versions in items.items():
        if versions.upstream and (helper := wrong.get(versions.upstream.key)):
            decisions[key] = conflict(versions, f"upstream now uses {helper}, which the fork changed")
    return decisions


def _assemble(sides: _Sides, decisions: Mapping[ItemKey, ItemDecision]) -> str:
    """The text: upstream's order and comments, what the fork added behind what stands before it there."""
    text = ""
    for key in _order(sides, decisions):
        item, body = sides.upstream.get(key) or sides.kernels[key], decisions[key].text
        if body is None:
            text += _LF
            continue
        text += _choose_separator(text, item.lead) + item.lead + body
    return text + _choose_separator(text, sides.tail) + sides.tail


def _choose_separator(text: str, following: str) -> str:
    """A line end where two items would share a line."""
    return "" if not text or text.endswith(_LF) or following.startswith(_LF) else _LF


def _order(sides: _Sides, decisions: Mapping[ItemKey, ItemDecision]) -> list[ItemKey]:
    order = list(sides.upstream)
    place = 0
    for key in sides.kernels:
        if key in sides.upstream:
            place = order.index(key) + 1
        elif decisions[key].text is not None:
            order.insert(place, key)
            place += 1
    return order


_OWN = ("define", "type", "struct")


def find_changed_meanings(items: Iterable[Versions]) -> dict[ItemKey, str]:
    """Upstream's items that have come to use a macro, a type or a static function that the fork changed or removed.

    What other files can call keeps its meaning: the fork makes it faster. A use that upstream only moved from one item
    to another is as good as before.

    Args:
        items: of one file, on the three sides.

    Returns:
        The name of such a helper, by the key that upstream has for the item.
    """
    every = tuple(items)
    helpers = {each.base.key.name for each in every if each.base and _is_helper(each.base) and _is_changed(each)}
    before, after = Counter[str](), Counter[str]()
    for versions in every:
        before.update(_count_uses(versions.base, helpers))
        after.update(_count_uses(versions.upstream, helpers))
    more = {name for name in helpers if after[name] > before[name]}
    return {
        versions.upstream.key: min(gained)
        for versions in every
        if versions.upstream and (gained := (_count_uses(versions.upstream, more) - _count_uses(versions.base, more)))
    }


def _is_changed(versions: Versions) -> bool:
    return _get_signature(versions.kernels) not in map(_get_signature, (versions.base, versions.upstream))


def _count_uses(item: Item | None, names: set[str]) -> Counter[str]:
    return Counter(token for token in item.signature if token in names - {item.key.name}) if item else Counter()


def _is_helper(item: Item) -> bool:
    if item.key.kind in _OWN:
        return True
    return item.key.kind in ("function", "declaration") and "static" in item.signature[:2]


_LINES = frozenset[str]().union(
    ("compound_statement", "declaration", "expression_statement", "for_statement", "if_statement"),
    ("return_statement",),
)
_CLOSING = frozenset((")", "]", ",", ";"))
_OPENING = frozenset(("(", "["))
_INDENT = "    "
_NEWLINE = "\n"


def emit(node: SyntaxNode) -> str:
    """The source of one item, ending in a newline."""
    lines: list[list[str]] = [[]]
    for piece in _list_pieces(node):
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


def is_read_back(node: SyntaxNode, text: str) -> bool:
    """Whether a text is parsed to the very tree that it was made from: that nothing binds otherwise than meant."""
    items = parse_items(text).items
    return len(items) == 1 and _describe_shape(items[0].node) == _describe_shape(node)


def _list_pieces(node: SyntaxNode) -> Iterator[str]:
    """Tokens and line ends."""
    if node.type == DIRECTIVE:
        yield from (_NEWLINE, node.text or "", _NEWLINE)
    elif node.text is not None:
        yield node.text
        if node.text == "{":
            yield _NEWLINE
    for child in node.children or ():
        yield from _list_pieces(child)
        if child.type in _LINES and not (node.type == "for_statement" and child.type == "declaration"):
            yield _NEWLINE


def _join(line: list[str]) -> str:
    text = line[0]
    for before, token in pairwise(line):
        text += token if token in _CLOSING or before in _OPENING else f" {token}"
    return text


def _describe_shape(node: SyntaxNode) -> list[tuple[str, str | None, int]]:
    return [(below.type, below.text, len(below.children or ())) for below in node.walk()]
