"""Names that mean something else after the merge than upstream's added code takes them for.

The fork may change what a helper of a file yields (or remove it) together with all that uses it there. What upstream
has come to use it since then was written for the helper as it was: no statement of both sides meets, and yet the merge
would be wrong.
"""

from collections import Counter
from collections.abc import Iterable

from fastinstall.merge.decisions import Versions
from fastinstall.merge.syntax import Item, ItemKey

_OWN = ("define", "type", "struct")


def misunderstood(items: Iterable[Versions]) -> dict[ItemKey, str]:
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
        before.update(_uses(versions.base, helpers))
        after.update(_uses(versions.upstream, helpers))
    more = {name for name in helpers if after[name] > before[name]}
    return {
        versions.upstream.key: min(gained)
        for versions in every
        if versions.upstream and (gained := (_uses(versions.upstream, more) - _uses(versions.base, more)))
    }


def _is_changed(versions: Versions) -> bool:
    return _tokens(versions.kernels) not in (_tokens(versions.base), _tokens(versions.upstream))


def _uses(item: Item | None, names: set[str]) -> Counter[str]:
    return Counter(token for token in _tokens(item) if token in names and item and token != item.key.name)


def _is_helper(item: Item) -> bool:
    if item.key.kind in _OWN:
        return True
    return item.key.kind in ("function", "declaration") and "static" in item.signature[:2]


def _tokens(item: Item | None) -> tuple[str, ...]:
    return item.signature if item else ()
