"""Which of two conda versions is the older one. Pure.

Source: the ordering that conda's documentation gives for package match specifications: numbers before the rest of a
component, "dev" before every other word, "post" after every number, and what is missing counts as 0.
"""

import re
from itertools import zip_longest

_Atom = tuple[int, int, str]
_Part = tuple[_Atom, ...]

_ATOMS = re.compile(r"\d+|[^\d.]+")
_NUMBER, _ZERO = 2, (2, 0, "")


def is_older(version: str, than: str) -> bool:
    """Whether conda would sort a version before another; versions that it would not take are compared all the same."""
    mine, other = _parsed(version), _parsed(than)
    for one, two in zip(mine, other, strict=True):
        for left, right in zip_longest(one, two, fillvalue=(_ZERO,)):
            for first, second in zip_longest(left, right, fillvalue=_ZERO):
                if first != second:
                    return first < second
    return False


def _parsed(version: str) -> tuple[tuple[_Part, ...], ...]:
    """Epoch, version and local version, each as its components."""
    epoch, mark, rest = version.strip().lower().partition("!")
    public, _, local = (rest if mark else epoch).partition("+")
    return _components(epoch if mark else "0"), _components(public), _components(local)


def _components(text: str) -> tuple[_Part, ...]:
    ending = "_" if text.endswith("_") else ""
    words = re.split(r"[._-]", text.rstrip("_"))
    words[-1] += ending
    return tuple(_part(word) for word in words if word)


def _part(word: str) -> _Part:
    atoms = tuple(_atom(found) for found in _ATOMS.findall(word))
    return atoms if atoms and atoms[0][0] == _NUMBER else (_ZERO, *atoms)


def _atom(text: str) -> _Atom:
    if text.isdigit():
        return (_NUMBER, int(text), "")
    ranks = {"dev": 0, "post": 3}
    return (ranks.get(text, 1), 0, text)
