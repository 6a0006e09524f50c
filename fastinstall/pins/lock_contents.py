"""What a lock holds, and whether another one goes back behind it. Pure.

A resolver that cannot have what it wants takes an older version of whoever asked for it, and says nothing. That is why
a pin is tried out first, and the lock with it held against the lock without it.
"""

import re
from collections.abc import Mapping

from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import toml_data
from fastinstall.rules.numbering import parsed
from fastinstall.rules.requirement_names import named_in

Locked = Mapping[str, frozenset[str]]
"""Versions by normalised name; several where platforms or Pythons differ."""


@immutable
class StepBack:
    """A distribution that a lock holds at an older version than another one.

    Attributes:
        name: of the distribution.
        was: the versions of the earlier lock.
        now: those of the later one.
    """

    name: str
    was: tuple[str, ...]
    now: tuple[str, ...]

    def __str__(self) -> str:
        """For people ("numpy 2.5.5 -> 2.4.6")."""
        return f"{self.name} {', '.join(self.was)} -> {', '.join(self.now)}"


def locked_versions(text: str) -> Locked:
    """The distributions of uv.lock, poetry.lock or pdm.lock, which all list `[[package]]` with name and version.

    Raises:
        ValueError: not TOML.
    """
    found: dict[str, set[str]] = {}
    for package in toml_data(text).get("package", ()):
        if package.get("version"):
            found.setdefault(named_in(package["name"]), set()).add(package["version"])
    return {name: frozenset(versions) for name, versions in found.items()}


def steps_back(before: Locked, after: Locked, *, but: str) -> tuple[StepBack, ...]:
    """The distributions that the later lock holds at an older version, or for fewer cases at the newer one.

    Args:
        before: the earlier lock.
        after: the later one.
        but: the name of the distribution that is pinned.
    """
    names = sorted(name for name in before.keys() & after.keys() if name != but and before[name] != after[name])
    return tuple(
        StepBack(name=name, was=_ordered(before[name]), now=_ordered(after[name]))
        for name in names
        if _goes_back(before[name], after[name])
    )


def without_package(text: str, name: str) -> str:
    """A lock without what it says of one distribution, for a tool that keeps to it even against the manifest (pdm)."""
    first, *packages = re.split(r"(?m)^(?=\[\[package\]\]$)", text)
    named = re.compile(rf'^name = "{re.escape(name)}"$', re.MULTILINE)
    return first + "".join(package for package in packages if not named.search(package))


def _goes_back(was: frozenset[str], now: frozenset[str]) -> bool:
    newest = max(map(parsed, was))
    if any(parsed(version) < newest for version in now - was):
        return True
    # One that is gone has become a newer one, if such has come; else one of those that were there already.
    lost = [gone for gone in was - now if not any(parsed(come) > parsed(gone) for come in now - was)]
    return any(parsed(left) < parsed(gone) for gone in lost for left in now)


def _ordered(versions: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(versions, key=parsed))
