"""Decide about one item: upstream's text, the fork's, both merged, or upstream's because both exclude each other."""

from collections.abc import Mapping

from fastinstall.merge.canonical import merge_canonical
from fastinstall.merge.emit import emit, reads_back
from fastinstall.merge.nodes import Node
from fastinstall.merge.scopes import require_same_scopes
from fastinstall.merge.syntax import ATOMIC, Item
from fastinstall.merge.threeway import ConflictError, merge_nodes
from fastinstall.model.immutable import immutable
from fastinstall.model.merge import Origin

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
class Decision:
    """What becomes of an item.

    Attributes:
        text: its text, or None if it does not exist.
        origin: where that comes from.
        reason: why.
    """

    text: str | None
    origin: Origin
    reason: str


def decide(versions: Versions, macros: Macros, *, kept: bool) -> Decision:
    """The text of one item, and why it is that.

    Args:
        versions: the item.
        macros: as `merge_canonical` takes them.
        kept: whether a rule says that upstream's stays.
    """
    base, upstream, kernels = map(_signature, (versions.base, versions.upstream, versions.kernels))
    if kernels in (base, upstream):
        return _upstream(versions, Origin.UPSTREAM, "the fork did not change it, or as upstream did")
    if kept:
        return _upstream(versions, Origin.KEPT, "a rule keeps upstream's")
    if upstream == base:
        return _taken(versions)
    if None in (base, upstream, kernels):
        return conflict(versions, _one_is_missing(versions))
    return _merge(versions, macros)


def conflict(versions: Versions, reason: str) -> Decision:
    """Upstream's item, because the fork's change cannot be merged into it."""
    return _upstream(versions, Origin.CONFLICT, reason)


def _signature(item: Item | None) -> tuple[str, ...] | None:
    return item.signature if item else None


def _upstream(versions: Versions, origin: Origin, reason: str) -> Decision:
    return Decision(text=versions.upstream.text if versions.upstream else None, origin=origin, reason=reason)


def _taken(versions: Versions) -> Decision:
    if versions.kernels is None:
        return Decision(text=None, origin=Origin.KERNELS, reason="the fork removed it, and upstream left it unchanged")
    done = "changed it, and upstream did not" if versions.base else "added it"
    return Decision(text=versions.kernels.text, origin=Origin.KERNELS, reason=f"the fork {done}")


def _one_is_missing(versions: Versions) -> str:
    if versions.base is None:
        return "upstream and the fork added it, each in its own way"
    return "the fork removed what upstream changed" if versions.upstream else "upstream removed what the fork changed"


def _merge(versions: Versions, macros: Macros) -> Decision:
    base, upstream, kernels = (item.node for item in (versions.base, versions.upstream, versions.kernels) if item)
    if ATOMIC in (base.type, upstream.type, kernels.type):
        return conflict(versions, "upstream and the fork changed it, and it cannot be parsed")
    try:
        merged = merge_nodes(base, upstream, kernels)
        if base.type == "function_definition":
            require_same_scopes(base, upstream, kernels, merged, macros)
        return Decision(text=_write(merged), origin=Origin.MERGED, reason="both changed it, in different places")
    except ConflictError as error:
        first = error
    if base.type != "function_definition":
        return conflict(versions, str(first))
    try:
        text = _write(merge_canonical(base, upstream, kernels, macros))
    except ConflictError as error:
        return conflict(versions, str(error))
    return Decision(text=text, origin=Origin.CANONICAL, reason=f"both changed it; upstream's rewording undone: {first}")


def _write(node: Node) -> str:
    text = emit(node)
    if not reads_back(node, text):
        raise ConflictError("what is merged from both would be read otherwise than it is meant")
    return text.rstrip()
