"""Which wheels a distribution needs under one minor version of Python, and which are missing. Pure.

pip evaluates environment markers for the Python that runs it, whichever one it downloads for. This is not a resolver:
one version of each distribution is available, chosen by pip's resolver.
"""

from collections.abc import Iterable, Mapping, Sequence

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from fastinstall.core.values import immutable
from fastinstall.index.supported_tags import list_libc_platforms

_BASE_GLIBC = (2, 28)
"""Of the official wheels."""


@immutable
class ShelfWheel:
    """An available wheel.

    Attributes:
        name: of the distribution, normalised.
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
    """A distribution's dependencies.

    Attributes:
        used: file names of the available wheels that are needed, sorted.
        missing: requirements without an available wheel, in pip's syntax.
    """

    used: tuple[str, ...]
    missing: tuple[str, ...] = ()


def closure_of(root: ShelfWheel, shelf: Sequence[ShelfWheel], minor: str, machine: str) -> Closure:
    """Return what a wheel needs to run, directly and indirectly.

    Args:
        shelf: the wheels that are available.
        minor: of the Python that will run it: "3.12".
        machine: that will run it, as its kernel names it: "x86_64".
    """
    tags = {tag: rank for rank, tag in enumerate(accepted_tags(minor, platforms_of(machine)))}
    environment = environment_of(minor, machine)
    used = {root.filename}
    missing: dict[str, None] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(root, "")]
    while waiting:
        wheel, extra = waiting.pop()
        if (wheel.filename, extra) in seen:
            continue
        seen.add((wheel.filename, extra))
        for requirement in _list_requirements(wheel, extra, environment):
            best = _choose_best_wheel(requirement.name, shelf, tags)
            if best is None:
                missing[_find_wanted_version(requirement, shelf)] = None
                continue
            used.add(best.filename)
            waiting += [(best, each) for each in ("", *requirement.extras)]
    return Closure(used=tuple(sorted(used)), missing=tuple(missing))


def make_shelf_wheel(filename: str, requires: Iterable[str]) -> ShelfWheel:
    """Return a wheel from its name and its lines of Requires-Dist.

    Raises:
        ValueError: it is not a wheel's name.
    """
    name, version, _build, tags = parse_wheel_filename(filename)
    return ShelfWheel(filename=filename, name=name, version=str(version), tags=tags, requires=tuple(requires))


def accepted_tags(minor: str, platforms: Sequence[str]) -> tuple[Tag, ...]:
    """Return the wheel tags that CPython of a minor version accepts on such platforms, the best first."""
    version = tuple(int(part) for part in minor.split("."))
    abi = f"cp{minor.replace('.', '')}"
    return (*cpython_tags(version, abis=[abi], platforms=platforms), *compatible_tags(version, abi, platforms))


def platforms_of(machine: str) -> tuple[str, ...]:
    """Return the platform tags that a machine with the official wheels' glibc accepts, the best first (PEP 600).

    >>> platforms_of("x86_64")[0], platforms_of("x86_64")[-1]
    ('manylinux_2_28_x86_64', 'manylinux1_x86_64')
    """
    return tuple(list_libc_platforms("glibc", _BASE_GLIBC, machine))


def environment_of(minor: str, machine: str) -> Mapping[str, str]:
    """Return the marker variables (PEP 508) of CPython of a minor version on Linux of a machine ("x86_64")."""
    version = f"{minor}.0"
    ours = {"python_version": minor, "python_full_version": version, "implementation_version": version}
    ours["platform_machine"] = machine
    return {key: str(value) for key, value in default_environment().items()} | ours


def _list_requirements(wheel: ShelfWheel, extra: str, environment: Mapping[str, str]) -> Iterable[Requirement]:
    for line in wheel.requires:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({**environment, "extra": extra}):
            yield requirement


def _choose_best_wheel(name: str, shelf: Sequence[ShelfWheel], tags: Mapping[Tag, int]) -> ShelfWheel | None:
    ranked = [
        (min(tags[tag] for tag in wheel.tags & tags.keys()), wheel.filename, wheel)
        for wheel in shelf
        if wheel.name == canonicalize_name(name) and wheel.tags & tags.keys()
    ]
    return min(ranked)[2] if ranked else None


def _find_wanted_version(requirement: Requirement, shelf: Sequence[ShelfWheel]) -> str:
    """Return the version that the shelf has for another Python, to keep one version of each distribution."""
    known = next((wheel for wheel in shelf if wheel.name == canonicalize_name(requirement.name)), None)
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{f'=={known.version}' if known is not None else requirement.specifier}"
