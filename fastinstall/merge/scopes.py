"""Whether every name of a merged function still means what it meant on the side that it came from.

Statements of both sides can be put together without any of them meeting, and yet one side's name be caught by the
other's declaration, or lose its own.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fastinstall.merge.declarations import declarations_in, free_names
from fastinstall.merge.nodes import Node
from fastinstall.merge.threeway import ConflictError

Macros = Mapping[str, frozenset[str]]


def require_same_scopes(base: Node, upstream: Node, kernels: Node, merged: Node, macros: Macros) -> None:
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
            raise ConflictError(f"{min(changed)} would mean something else than it does on one side")
    if twice := {name for name, times in (result.declared - (ours.declared | theirs.declared)).items() if times}:
        raise ConflictError(f"{min(twice)} would be declared more often than on either side")
    for one, other in ((ours, theirs), (theirs, ours)):
        if caught := {name for name in one.declared_since(old) if other.words[name] != old.words[name]}:
            raise ConflictError(f"{min(caught)} is declared anew by one side and used by the other")


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
    def of(cls, function: Node, macros: Macros) -> "_Scope":
        declared = Counter(one.name for one in declarations_in(function))
        used = free_names(function)
        used |= {name for macro in used & macros.keys() for name in macros[macro]} - declared.keys()
        return cls(frozenset(used), frozenset(declared.keys() - used), declared, Counter(function.signature))

    def declared_since(self, base: "_Scope") -> set[str]:
        """Names that are declared more often than before."""
        return {name for name, times in self.declared.items() if times > base.declared[name]}
