"""Conda's ordering of versions.

Source: conda's documentation of package match specifications: numbers before the rest of a component, "dev" before
every other word, "post" after every number, and what is missing counts as 0.
"""

import re
from itertools import zip_longest


def is_older(version: str, than: str) -> bool:
    """Return whether conda would sort a version before another, even one that it would not accept.

    >>> is_older("1.0rc1", than="1.0"), is_older("1.0.post1", than="1.0")
    (True, False)
    >>> is_older("1!0.1", than="2.0")
    False
    """
    for left, right in zip(_split_version(version), _split_version(than), strict=True):
        for pair in zip_longest(left, right, fillvalue=[_ZERO]):
            for atom, opposite in zip_longest(*pair, fillvalue=_ZERO):
                if atom != opposite:
                    return atom < opposite
    return False


_ZERO = (2, 0, "")  # what is missing counts as 0; words come before numbers


def _split_version(version: str) -> list[list[list[tuple[int, int, str]]]]:
    """Split a version into epoch, version and local version, and their components into numbers and words."""
    epoch, mark, rest = version.strip().lower().partition("!")
    public, _, local = (rest if mark else epoch).partition("+")
    return [[_split_component(word) for word in _list_words(text)] for text in (epoch if mark else "0", public, local)]


def _list_words(text: str) -> list[str]:
    words = re.split(r"[._-]", text.rstrip("_"))
    return [word for word in (*words[:-1], words[-1] + "_" * text.endswith("_")) if word]


def _split_component(word: str) -> list[tuple[int, int, str]]:
    atoms = [
        (2, int(atom), "") if atom.isdigit() else ({"dev": 0, "post": 3}.get(atom, 1), 0, atom)
        for atom in re.findall(r"\d+|[^\d.]+", word)
    ]
    return atoms if atoms[0][0] == _ZERO[0] else [_ZERO, *atoms]
