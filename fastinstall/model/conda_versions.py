"""Compare versions of conda packages with each other, and with the version part of a match spec. Pure.

The order is not that of PEP 440: 13.0.0rc1 is below 13, and 12.1.1+simd below 12.1.1.
Source: conda's documentation of version ordering and match specs; tests compare the results with conda and rattler.
"""

import re
from fnmatch import fnmatchcase
from functools import total_ordering
from itertools import zip_longest

_Atom = tuple[int, int | str]
_Components = tuple[tuple[_Atom, ...], ...]
_DEV, _WORD, _NUMBER, _POST = range(4)
"""Ranks of a version's atoms: "dev" is lowest, then any other word, a number, and "post"."""
_ZERO: _Atom = (_NUMBER, 0)
_ATOMS = re.compile(r"\d+|[^\d.]+")
_CLAUSE = re.compile(r"(?P<sign>==|!=|<=|>=|~=|=|<|>|)(?P<version>[\w.*+!-]+)")


@total_ordering
class CondaVersion:
    """A comparable version of a conda package: 1.1 equals 1.1.0, and words sort below numbers.

    Attributes:
        parts: components of the epoch, the version and the local label.
    """

    def __init__(self, text: str) -> None:
        """Parse a version such as "1!13.0.0rc1+simd", with an epoch and a local label."""
        written, _, label = text.strip().lower().replace("-", "_").partition("+")
        epoch, _, public = written.rpartition("!")
        self.parts = (((_NUMBER, int(epoch or 0)),),), _split(public), _split(label)

    def __eq__(self, other: object) -> bool:
        """Return whether epoch, version and label are equal; missing components count as zeros."""
        return isinstance(other, CondaVersion) and _pad_all(self, other) == _pad_all(other, self)

    def __lt__(self, other: "CondaVersion") -> bool:
        """Compare epoch, version and label, in that order."""
        return _pad_all(self, other) < _pad_all(other, self)

    def __hash__(self) -> int:
        """Raise TypeError: versions that are equal may have different `parts`."""
        raise TypeError("not hashable")

    def starts_with(self, other: "CondaVersion") -> bool:
        """Return whether this version starts with the components of another: "12.1.1" starts with "12.1"."""
        (epoch, own, label), (other_epoch, begin, other_label) = self.parts, other.parts
        if epoch != other_epoch or (other_label and (label != other_label or own != begin)):
            return False
        if not begin:
            return True
        own = own + ((),) * (len(begin) - len(own))
        *earlier, last = begin
        if _pad(own[: len(earlier)], tuple(earlier)) != _pad(tuple(earlier), own[: len(earlier)]):
            return False
        # The last component of `other` may match only the beginning of a component of this version: "13.0.0rc1" starts
        # with "13.0.0rc".
        atoms = own[len(earlier)] + (_ZERO,) * (len(last) - len(own[len(earlier)]))
        *before, end = last or (_ZERO,)
        found = atoms[len(before)] if atoms else _ZERO
        continued = end[0] == found[0] == _WORD and str(found[1]).startswith(str(end[1]))
        return atoms[: len(before)] == tuple(before) and (found == end or continued)

    def shortened(self) -> "CondaVersion":
        """Return the version without its last component: 12.1 for 12.1.1."""
        shorter = CondaVersion("0")
        shorter.parts = self.parts[0], self.parts[1][:-1], ()
        return shorter


def _split(text: str) -> _Components:
    """Split a version into components, and each component into numbers and words; put a 0 before a leading word."""
    components = []
    for component in text.replace("_", ".").split(".") if text else ():
        atoms = tuple(map(_rank, _ATOMS.findall(component)))
        components.append(((_ZERO,) if not atoms or atoms[0][0] != _NUMBER else ()) + atoms)
    return tuple(components)


def _rank(word: str) -> _Atom:
    if word.isdecimal():
        return (_NUMBER, int(word))
    return {"dev": (_DEV, ""), "post": (_POST, "")}.get(word, (_WORD, word))


def _pad_all(own: CondaVersion, other: CondaVersion) -> tuple[_Components, ...]:
    return tuple(_pad(mine, others) for mine, others in zip(own.parts, other.parts, strict=True))


def _pad(own: _Components, other: _Components) -> _Components:
    """Pad `own` and its components with zeros, so that none is shorter than its counterpart in `other`."""
    pairs = zip_longest(own, other, fillvalue=())
    return tuple(mine + (_ZERO,) * max(0, len(others) - len(mine), not mine) for mine, others in pairs)


def meets_conda_spec(spec: str, version: str) -> bool:
    """Return whether a version meets the version part of a match spec; a spec that cannot be parsed counts as met.

    >>> meets_conda_spec("12.*|>=13,<14", "13.0.0"), meets_conda_spec(">=13", "13.0.0rc1")
    (True, False)

    Args:
        spec: alternatives, separated by "|"; each is a list of clauses, separated by ",", all of which must be met.
        version: the version of a conda package.
    """
    if "(" in spec:
        return True
    own = CondaVersion(version)
    return any(all(_meets(clause.strip(), own, version) for clause in each.split(",")) for each in spec.split("|"))


def _meets(clause: str, own: CondaVersion, text: str) -> bool:
    if clause.startswith("^") and clause.endswith("$"):
        return re.fullmatch(clause[1:-1], text) is not None
    found = _CLAUSE.fullmatch(clause.replace(" ", ""))
    if found is None:
        return True
    sign, written = found["sign"], found["version"]
    bound = written.rstrip("*").rstrip(".")
    if "*" in bound or not bound:
        return fnmatchcase(text, written) is (sign != "!=")
    other, has_star = CondaVersion(bound), written != bound
    begins = own.starts_with(other)
    return {
        "": begins if has_star else own == other,
        "=": begins,
        "==": own == other,  # a trailing star is ignored after "==", "~=", ">=", "<=", ">" and "<"
        "!=": not begins if has_star else own != other,
        "~=": own >= other and own.starts_with(other.shortened()),
        ">=": own >= other,
        "<=": own <= other,
        ">": own > other,
        "<": own < other,
    }[sign]
