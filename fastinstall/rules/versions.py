"""Which version to build: the newest that the target's Python and its installed distributions allow. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastinstall.errors import RefusedError, UsageError
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Dependant, Interpreter
from fastinstall.model.recipe import Level, Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.messages import listing, quote
from fastinstall.rules.obstacles import Obstacle, obstacles

if TYPE_CHECKING:
    from packaging.version import Version

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is built, or taken as it is.

    Attributes:
        version: of the source distribution, or of the prebuilt wheel where there is no source.
        source: the sdist; None where a prebuilt wheel is taken.
        chassis: the official wheel of the same base version; None where none fits the target.
        prebuilt: a wheel of our own making that is taken as it is.
        reason: for people.
    """

    version: str
    source: Artefact | None
    chassis: Artefact | None
    prebuilt: Artefact | None = None
    reason: str


def base_version(version: str) -> str:
    """The version of Pillow that a version follows: "12.1.1.post0" and "12.1.1+simd.v3" follow "12.1.1".

    Raises:
        ValueError: not a version (PEP 440).
    """
    from packaging.version import Version  # noqa: PLC0415 (slow to import; only where versions are compared)

    parsed = Version(version)
    return parsed.base_version + "".join(map(str, parsed.pre or ()))


def buildable(releases: Releases, recipe: Recipe, level: Level) -> Releases:
    """What is left of the releases for a recipe and a level.

    Sources that the recipe does not know how to build go, and so do prebuilt wheels for another level.
    """
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (slow to import; only where versions are compared)

    known = SpecifierSet(recipe.source.versions)
    label = f"+{recipe.source.label}.{level.name.removeprefix('x86-64-')}"
    return Releases(
        sources=tuple(source for source in releases.sources if known.contains(source.version, prereleases=True)),
        wheels=releases.wheels,
        prebuilt=tuple(wheel for wheel in releases.prebuilt if wheel.version.endswith(label)),
        origin=releases.origin,
    )


def newest_fitting(releases: Releases, interpreter: Interpreter, dependants: Sequence[Dependant], wish: Wish) -> Choice:
    """The newest version, or the one that is wished for, if the target allows it.

    Args:
        releases: what there is; of a prebuilt wheel and a source of one version the wheel is taken.
        interpreter: the target's Python: `requires_python` counts, classifiers do not.
        dependants: installed distributions that require what is replaced.
        wish: a version, and the name of the distribution that is made.

    Raises:
        RefusedError: not CPython, or the target forbids every version (or the named one); says who does.
        UsageError: the named version does not exist; the hint lists the nearest.
    """
    if interpreter.implementation != "cpython":
        raise RefusedError(
            f"{interpreter.executable} is {interpreter.implementation}: the core is built for CPython only",
            hint="keep stock Pillow there, or use a CPython environment: fastinstall setup --new-env ./fast-env",
        )
    offered = _wished(_offered(releases, wish), releases, wish)
    judged = [_judge(artefact, interpreter, dependants, wish) for artefact in offered]
    for index, (artefact, found) in enumerate(judged):
        if not found:
            return _choice(artefact, releases, _reason(artefact, judged[:index], wish))
    raise _refusal(judged, wish)


_Judged = tuple[Artefact, tuple[Obstacle, ...]]


def _offered(releases: Releases, wish: Wish) -> list[Artefact]:
    """Sources and prebuilt wheels of the wished name, newest first; at one base version the wheel first."""
    prebuilt = [wheel for wheel in releases.prebuilt if wheel.name == wish.dist_name]

    def rank(artefact: Artefact) -> "tuple[Version, bool, Version]":
        return _version(base_version(artefact.version)), artefact in prebuilt, _version(artefact.version)

    return sorted((*releases.sources, *prebuilt), key=rank, reverse=True)


def _wished(offered: list[Artefact], releases: Releases, wish: Wish) -> list[Artefact]:
    name = _source_name(releases, wish)
    if not offered:
        where = f"{releases.origin} offers no {name} that can be built"
        raise RefusedError(
            where, hint="look at the network and the index, or give --wheelhouse DIR with its sdist in it"
        )
    if wish.version is None:
        stable = [artefact for artefact in offered if not _version(artefact.version).is_prerelease]
        return stable or offered
    named = [artefact for artefact in offered if _is_named(artefact, releases, wish.version)]
    if not named:
        raise UsageError(
            f"--version {wish.version}: {releases.origin} has no {name} of that version",
            hint=f"the nearest: {listing(_nearest(offered, wish.version))}",
        )
    return named


def _is_named(artefact: Artefact, releases: Releases, version: str) -> bool:
    from packaging.version import InvalidVersion  # noqa: PLC0415 (slow to import; only where versions are compared)

    try:
        if artefact in releases.sources:
            return _version(artefact.version) == _version(version)
        return base_version(artefact.version) == base_version(version)
    except InvalidVersion:
        raise UsageError(f"--version {version}: not a version", hint="give one like 12.1.1.post0") from None


def _nearest(offered: list[Artefact], version: str) -> list[str]:
    wanted = _version(version)
    versions = list(dict.fromkeys(artefact.version for artefact in offered))
    above = [each for each in versions if _version(each) > wanted][-2:]
    below = [each for each in versions if _version(each) < wanted][:2]
    return above + below


def _judge(artefact: Artefact, interpreter: Interpreter, dependants: Sequence[Dependant], wish: Wish) -> _Judged:
    version = artefact.version if artefact.name == wish.dist_name else base_version(artefact.version)
    return artefact, obstacles(artefact, version.partition("+")[0], interpreter, dependants)


def _choice(artefact: Artefact, releases: Releases, reason: str) -> Choice:
    is_source = artefact in releases.sources
    base = _version(base_version(artefact.version))
    return Choice(
        version=artefact.version.partition("+")[0],
        source=artefact if is_source else None,
        chassis=next((wheel for wheel in releases.wheels if _version(wheel.version) == base), None),
        prebuilt=None if is_source else artefact,
        reason=reason,
    )


def _reason(artefact: Artefact, passed: list[_Judged], wish: Wish) -> str:
    what = f"{artefact.name} {artefact.version}"
    if wish.version is not None:
        return f"{what} as asked"
    if not passed:
        return f"{what} is the newest"
    newest, found = passed[0]
    return f"{what} is the newest that fits; not {newest.version}, because {found[0].reason}"


def _refusal(judged: list[_Judged], wish: Wish) -> RefusedError:
    newest, found = judged[0]
    what = f"{newest.name} {newest.version}" if wish.version else f"any {newest.name} (the newest is {newest.version})"
    return RefusedError(
        f"the target does not allow {what}: {_why(found)}",
        hint=_way_out(judged),
        details=tuple(f"{each.version}: {_why(others)}" for each, others in judged[:_SHOWN]),
    )


def _why(found: tuple[Obstacle, ...]) -> str:
    return listing(obstacle.reason for obstacle in found)


def _way_out(judged: list[_Judged]) -> str:
    names = {obstacle.dependant for _, found in judged for obstacle in found if obstacle.dependant is not None}
    if not names:
        return "use an environment with another Python: fastinstall setup --new-env ./fast-env --python python3"
    return f"relax or remove {listing(map(quote, sorted(names)))}, or try another recipe: fastinstall recipes list"


def _source_name(releases: Releases, wish: Wish) -> str:
    return releases.sources[0].name if releases.sources else wish.recipe


def _version(text: str) -> "Version":
    from packaging.version import Version  # noqa: PLC0415 (slow to import; only where versions are compared)

    return Version(text)
