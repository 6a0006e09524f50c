"""Merge one file: the base, upstream's version of it and the fork's, item by item.

What one side changed is taken from that side. What both changed is merged statement by statement, then in a canonical
form, and where that fails upstream's stays.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache

from fastinstall.merge.counterparts import by_base_key, renamed_functions
from fastinstall.merge.decisions import Decision, Macros, Versions, conflict, decide
from fastinstall.merge.macros import names_in_macros
from fastinstall.merge.meanings import misunderstood
from fastinstall.merge.syntax import Item, ItemKey, parse_items
from fastinstall.model.immutable import immutable
from fastinstall.model.merge import Origin

_LF, _CRLF = "\n", "\r\n"
_TAKEN = (Origin.KERNELS, Origin.MERGED, Origin.CANONICAL)


@immutable
class Outcome:
    """What became of one item.

    Attributes:
        kind: as in its key.
        name: as in the merged text.
        origin: where its text came from.
        reason: why.
    """

    kind: str
    name: str
    origin: Origin
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
    outcomes: tuple[Outcome, ...]


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
        _outcome(sides.versions(key), decision)
        for key, decision in decisions.items()
        if decision.origin is not Origin.UPSTREAM
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
        renamed = renamed_functions(old.items, ours.items)
        by_key = by_base_key(old.items, ours.items, added="upstream")
        return cls(
            base={item.key: item for item in old.items},
            upstream={renamed.get(item.key, key): item for key, item in by_key.items()},
            kernels=by_base_key(old.items, theirs.items, added="the fork"),
            tail=ours.tail,
            macros=names_in_macros((*old.items, *ours.items, *theirs.items)),
        )

    @property
    def keys(self) -> tuple[ItemKey, ...]:
        """Of all items: upstream's in their order, then what the fork added, then what upstream removed."""
        return tuple(dict.fromkeys((*self.upstream, *self.kernels, *self.base)))

    def versions(self, key: ItemKey) -> Versions:
        return Versions(base=self.base.get(key), upstream=self.upstream.get(key), kernels=self.kernels.get(key))


def _decide_all(sides: _Sides, keep: Collection[str]) -> dict[ItemKey, Decision]:
    items = {key: sides.versions(key) for key in sides.keys}
    kept = {key: not set(keep).isdisjoint(versions.names) for key, versions in items.items()}
    decisions = {key: decide(versions, sides.macros, kept=kept[key]) for key, versions in items.items()}
    wrong = misunderstood(versions for key, versions in items.items() if not kept[key])
    for key, versions in items.items():
        if versions.upstream and (helper := wrong.get(versions.upstream.key)):
            decisions[key] = conflict(versions, f"upstream has come to use {helper}, which the fork changed")
    return decisions


def _outcome(versions: Versions, decision: Decision) -> Outcome:
    item = versions.upstream or versions.kernels or versions.base
    if item is None:
        raise ValueError(decision.reason)
    return Outcome(kind=item.key.kind, name=item.key.name, origin=decision.origin, reason=decision.reason)


def _assemble(sides: _Sides, decisions: Mapping[ItemKey, Decision]) -> str:
    """The text: upstream's order and comments, what the fork added behind what stands before it there."""
    text = ""
    for key in _order(sides, decisions):
        item, body = sides.upstream.get(key) or sides.kernels[key], decisions[key].text
        if body is None:
            text += _LF
            continue
        text += _separator(text, item.lead) + item.lead + body
    return text + _separator(text, sides.tail) + sides.tail


def _separator(text: str, following: str) -> str:
    """A line end where two items would share a line."""
    return "" if not text or text.endswith(_LF) or following.startswith(_LF) else _LF


def _order(sides: _Sides, decisions: Mapping[ItemKey, Decision]) -> list[ItemKey]:
    order = list(sides.upstream)
    place = 0
    for key in sides.kernels:
        if key in sides.upstream:
            place = order.index(key) + 1
        elif decisions[key].text is not None:
            order.insert(place, key)
            place += 1
    return order
