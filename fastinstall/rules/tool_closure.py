"""Which wheels a distribution needs to run under one minor version of Python, and what is not there yet.

Not a resolver: of each distribution the wheels at hand have one version, which a resolver has chosen. pip evaluates
environment markers for the Python that runs it, whichever one it downloads for; here they are evaluated for that one.
"""

from collections.abc import Iterable, Mapping, Sequence

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from fastinstall.model.immutable import immutable

_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}  # PEP 600
_OLDEST_GLIBC, _BASE_GLIBC = 5, 28


@immutable
class ShelfWheel:
    """A wheel at hand.

    Attributes:
        filename: its name.
        name: of the distribution, normalised.
        version: of the distribution.
        tags: the Pythons and platforms that it fits.
        requires: its lines of Requires-Dist.
    """

    filename: str
    name: str
    version: str
    tags: frozenset[Tag]
    requires: tuple[str, ...]


@immutable
class Closure:
    """What a distribution needs.

    Attributes:
        used: file names of the wheels at hand that are needed, sorted.
        missing: requirements that none of them meets, each as pip takes it.
    """

    used: tuple[str, ...]
    missing: tuple[str, ...] = ()


def closure_of(root: ShelfWheel, shelf: Sequence[ShelfWheel], minor: str, platforms: Sequence[str]) -> Closure:
    """What a wheel needs to run, directly and indirectly.

    Args:
        root: the wheel.
        shelf: wheels at hand.
        minor: of the Python that is to run it: "3.12".
        platforms: tags of platforms that the machine accepts, the best first.
    """
    tags = {tag: rank for rank, tag in enumerate(tags_of(minor, platforms))}
    environment = environment_of(minor)
    used = {root.filename}
    missing: dict[str, None] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(root, "")]
    while waiting:
        wheel, extra = waiting.pop()
        if (wheel.filename, extra) in seen:
            continue
        seen.add((wheel.filename, extra))
        for requirement in _asked(wheel, extra, environment):
            best = _best(requirement.name, shelf, tags)
            if best is None:
                missing[_wanted(requirement, shelf)] = None
                continue
            used.add(best.filename)
            waiting += [(best, each) for each in ("", *requirement.extras)]
    return Closure(used=tuple(sorted(used)), missing=tuple(missing))


def shelf_wheel(filename: str, requires: Iterable[str]) -> ShelfWheel:
    """A wheel by its name and its lines of Requires-Dist.

    Raises:
        ValueError: it is not the name of a wheel.
    """
    name, version, _build, tags = parse_wheel_filename(filename)
    return ShelfWheel(filename=filename, name=name, version=str(version), tags=tags, requires=tuple(requires))


def tags_of(minor: str, platforms: Sequence[str]) -> tuple[Tag, ...]:
    """The wheel tags that CPython of a minor version accepts on such platforms, the best first."""
    version = tuple(int(part) for part in minor.split("."))
    abi = f"cp{minor.replace('.', '')}"
    return (
        *cpython_tags(version, abis=[abi], platforms=platforms),
        *compatible_tags(version, abi, platforms),
    )


def platforms_of(machine: str, glibc_minor: int = _BASE_GLIBC) -> tuple[str, ...]:
    """The platform tags that a machine with glibc 2.`glibc_minor` accepts, the best first (PEP 600)."""
    found: list[str] = []
    for minor in range(glibc_minor, _OLDEST_GLIBC - 1, -1):
        found.append(f"manylinux_2_{minor}_{machine}")
        if minor in _LEGACY:
            found.append(f"{_LEGACY[minor]}_{machine}")
    return tuple(found)


def environment_of(minor: str) -> Mapping[str, str]:
    """The variables that markers ask for (PEP 508), of CPython of a minor version on Linux."""
    version = f"{minor}.0"
    ours = {"python_version": minor, "python_full_version": version, "implementation_version": version}
    return {key: str(value) for key, value in default_environment().items()} | ours


def _asked(wheel: ShelfWheel, extra: str, environment: Mapping[str, str]) -> Iterable[Requirement]:
    for line in wheel.requires:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({**environment, "extra": extra}):
            yield requirement


def _best(name: str, shelf: Sequence[ShelfWheel], tags: Mapping[Tag, int]) -> ShelfWheel | None:
    ranked = [
        (min(tags[tag] for tag in wheel.tags & tags.keys()), wheel.filename, wheel)
        for wheel in shelf
        if wheel.name == canonicalize_name(name) and wheel.tags & tags.keys()
    ]
    return min(ranked)[2] if ranked else None


def _wanted(requirement: Requirement, shelf: Sequence[ShelfWheel]) -> str:
    """The version that the shelf has for another Python, so that there is one version of each distribution."""
    known = next((wheel for wheel in shelf if wheel.name == canonicalize_name(requirement.name)), None)
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{f'=={known.version}' if known is not None else requirement.specifier}"
