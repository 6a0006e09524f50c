"""Which item of a file is the counterpart of which item of the base.

By kind and name. Where several bear one name and some were added or removed, those with the same tokens belong
together. Where a function is gone and a similar one with a similar name has come, it was renamed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from fastinstall.merge.align import align
from fastinstall.merge.syntax import Item, ItemKey

_LIKE_NAME = 0.8
_LIKE_TOKENS = 0.5


def by_base_key(base: Sequence[Item], version: Sequence[Item], *, added: str) -> dict[ItemKey, Item]:
    """The items of a version in their order, each under the key of its counterpart, or under its own.

    Args:
        base: items of what both sides started from.
        version: items of one side.
        added: a word that tells an item that this side added to several of one name from what the other side added.
    """
    before, after = _groups(base), _groups(version)
    keys: dict[ItemKey, ItemKey] = {}
    for name, items in after.items():
        old = before.get(name, [])
        if old and len(old) != len(items):
            keys.update(_aligned(old, items, added))
    return {keys.get(item.key, item.key): item for item in version}


def renamed_functions(base: Iterable[Item], version: Iterable[Item]) -> dict[ItemKey, ItemKey]:
    """Keys in the base, by the keys in the version, of functions that were given another name."""
    before = {item.key: item for item in base if item.key.kind == "function"}
    after = {item.key: item for item in version if item.key.kind == "function"}
    arrived = [item for key, item in after.items() if key not in before]
    renamed: dict[ItemKey, ItemKey] = {}
    for gone in (item for key, item in before.items() if key not in after):
        best = max(arrived, key=lambda item: (_like_name(gone, item), _like_tokens(gone, item)), default=None)
        if best and _like_name(gone, best) > _LIKE_NAME and _like_tokens(gone, best) > _LIKE_TOKENS:
            renamed[best.key] = gone.key
            arrived.remove(best)
    return renamed


def _groups(items: Iterable[Item]) -> dict[tuple[str, str], list[Item]]:
    groups: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        groups[item.key.kind, item.key.name].append(item)
    return groups


def _aligned(old: Sequence[Item], items: Sequence[Item], added: str) -> dict[ItemKey, ItemKey]:
    pairs = align([item.node for item in old], [item.node for item in items])
    keys = {items[other].key: old[one].key for one, other in pairs.items()}
    return {item.key: keys.get(item.key) or _fresh(item.key, added) for item in items}


def _fresh(key: ItemKey, added: str) -> ItemKey:
    return ItemKey(key.kind, f"{key.name} ({added})", key.occurrence)


def _like_name(one: Item, other: Item) -> float:
    return SequenceMatcher(None, one.key.name, other.key.name).ratio()


def _like_tokens(one: Item, other: Item) -> float:
    return SequenceMatcher(None, one.signature, other.signature, autojunk=False).quick_ratio()
