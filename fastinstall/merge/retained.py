"""What of upstream's file has to stay beside the merged one, under other names, so that functions of it can run.

That is a function with everything that it reaches and the merge changed, or that reaches something changed: callees,
macros, types, variables. What the merge left alone is shared.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from fastinstall.merge.definitions import defined_names, rename, used_names
from fastinstall.merge.nodes import DIRECTIVE
from fastinstall.merge.syntax import ATOMIC, Item, ItemKey, ParsedFile
from fastinstall.model.immutable import immutable

SUFFIX = "__scalar"


@immutable
class Retained:
    """Items of upstream's that stay under other names.

    Attributes:
        names: those that get the suffix.
        copies: key of upstream's item to its text, renamed; in upstream's order.
    """

    names: frozenset[str]
    copies: dict[ItemKey, str]


class Upstream:
    """Upstream's items, what they define and use, and which of them the merge concerns.

    Args:
        upstream: the file as upstream has it.
        merged: the file as the merge left it.

    Attributes:
        unclear: what the merge changed and nobody can tell what it defines.
    """

    def __init__(self, upstream: ParsedFile, merged: ParsedFile) -> None:
        self._items = upstream.items
        self._defined = [defined_names(item) for item in upstream.items]
        self._used = [used_names(item.text) for item in upstream.items]
        self._places = _places(self._defined)
        changed = _changed(upstream.items, merged)
        self._concerned = self._reaching(changed)
        self.unclear = tuple(
            self._items[index].key.name for index in sorted(changed) if _is_unclear(self._items[index])
        )

    def concerns(self, function: str) -> bool:
        """Whether the merge changed a function, or anything that it reaches."""
        return bool(self._places.get(function, set()) & self._concerned)

    def retain(self, functions: Iterable[str]) -> Retained:
        """What must stay for functions to run as upstream wrote them."""
        needed = self._closure(functions)
        names = frozenset(name for index in needed for name in self._defined[index])
        copies = {self._items[index].key: rename(self._items[index].text, names, SUFFIX) for index in sorted(needed)}
        return Retained(names=names, copies=copies)

    def _reaching(self, changed: AbstractSet[int]) -> set[int]:
        """The changed items, those of the same names, and all that use them."""
        found = self._with_namesakes(changed)
        while True:
            names = {name for index in found for name in self._defined[index]}
            more = self._with_namesakes({index for index, used in enumerate(self._used) if used & names}) | found
            if more == found:
                return found
            found = more

    def _closure(self, functions: Iterable[str]) -> set[int]:
        found = {index for name in functions for index in self._places.get(name, ())}
        while True:
            names = {name for index in found for name in (*self._used[index], *self._defined[index])}
            more = found | {index for name in names for index in self._places.get(name, set()) & self._concerned}
            if more == found:
                return found
            found = more

    def _with_namesakes(self, indexes: AbstractSet[int]) -> set[int]:
        """A function and its declaration, a macro and its `#undef`: renamed together or not at all."""
        return {other for index in indexes for name in self._defined[index] for other in self._places[name]} | set(
            indexes
        )


def _is_unclear(item: Item) -> bool:
    """Whether it may define what cannot be seen: unreadable, or a macro that makes definitions."""
    if item.key.kind == "other":
        return item.node.type != DIRECTIVE
    return item.node.type == ATOMIC and item.key.kind in ("conditional", "struct")


def _places(defined: list[frozenset[str]]) -> dict[str, set[int]]:
    places: dict[str, set[int]] = {}
    for index, names in enumerate(defined):
        for name in names:
            places.setdefault(name, set()).add(index)
    return places


def _changed(items: tuple[Item, ...], merged: ParsedFile) -> set[int]:
    present = merged.by_key
    return {
        index
        for index, item in enumerate(items)
        if item.key not in present or present[item.key].signature != item.signature
    }
