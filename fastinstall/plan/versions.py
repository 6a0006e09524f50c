"""Which version to build: the newest that the target's Python and its installed distributions allow. Pure.

Which fork's changes are merged onto a version of the source, and what stands in the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fastinstall.cmerge.documents import Kernels
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version, parse_version_number
from fastinstall.index.upgrades import NO_SDIST, OTHER_PYTHON, OTHER_RECIPE, Obstacle, obstacles
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Dependant, Interpreter
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request

if TYPE_CHECKING:
    from packaging.version import Version


@immutable
class Merge:
    """What is merged onto a source.

    Attributes:
        kernels: the sdist of the fork.
        base: the sdist of what the fork follows, at the version that it follows.
    """

    kernels: Artefact
    base: Artefact


def choose_merge(source: Artefact, kernels: Kernels, releases: Releases) -> Merge | Obstacle:
    """The newest fork that follows the source's version or an earlier one, with the sdist of what it follows.

    Args:
        source: the sdist onto which its changes go.
        kernels: of the recipe.
        releases: sdists of the fork and of what it follows; official wheels, one of which must carry the result.
    """
    wanted = parse_version_number(source.version)
    if not any(parse_version_number(wheel.version) == wanted for wheel in releases.wheels):
        return Obstacle(reason="no official wheel for this Python", remedy=OTHER_PYTHON)
    earlier = sorted(
        (fork for fork in releases.kernels if _parse_base_version(fork) <= wanted), key=_rank_age, reverse=True
    )
    if not earlier:
        return Obstacle(reason=f"no {kernels.pypi} to merge at or before it", remedy=NO_SDIST)
    found = (Merge(kernels=fork, base=base) for fork in earlier for base in releases.bases if _follows(fork, base))
    return next(found, None) or _make_missing_base_obstacle(earlier[0], kernels)


def warn_about_unproven_version(version: str, kernels: Kernels, instead: str) -> str:
    """A sentence of caution for a version that the merge was not proven on; empty for one that it was.

    Args:
        version: of the source.
        kernels: of the recipe.
        instead: what happens if the merge does not prove ("13.0.0 is taken").
    """
    proven = [parse_version_number(each) for each in kernels.proven]
    if parse_version_number(version) in proven:
        return ""
    newest = f"{max(proven)} is the newest" if proven else "there is none yet"
    return (
        f"{version} is not among the versions that this merge was proven on ({newest}): "
        f"it is proven here before anything is touched; if it does not prove, {instead}"
    )


def _make_missing_base_obstacle(fork: Artefact, kernels: Kernels) -> Obstacle:
    followed = f"{kernels.follows} {base_version(fork.version)}"
    return Obstacle(reason=f"no sdist of {followed}, which {kernels.pypi} {fork.version} follows", remedy=NO_SDIST)


def _follows(fork: Artefact, base: Artefact) -> bool:
    return _parse_base_version(fork) == parse_version_number(base.version)


def _rank_age(fork: Artefact) -> "tuple[Version, Version]":
    return _parse_base_version(fork), parse_version_number(fork.version)


def _parse_base_version(fork: Artefact) -> "Version":
    return parse_version_number(base_version(fork.version))


_SHOWN = 5


@immutable
class VersionChoice:
    """What is built, or taken as it is.

    Attributes:
        version: of the source distribution, or of the prebuilt wheel where there is no source.
        source: the sdist, or None if a prebuilt wheel is used.
        chassis: the official wheel of the same base version, or None if none fits the target.
        kernels: the sdist of the fork to merge onto the source, or None if nothing is merged.
        base: the sdist of what that fork follows.
        prebuilt: a wheel of our own making that is taken as it is.
        reason: for people.
        caution: what is not known of this version yet; empty if nothing is missing.
    """

    version: str
    source: Artefact | None
    chassis: Artefact | None
    kernels: Artefact | None = None
    base: Artefact | None = None
    prebuilt: Artefact | None = None
    reason: str
    caution: str = ""


def choose_version(
    releases: Releases, recipe: Recipe, interpreter: Interpreter, dependants: Sequence[Dependant], request: Request
) -> VersionChoice:
    """The newest version, or the one that is wished for, if the target allows it.

    Args:
        releases: what there is; of a prebuilt wheel and a source of one version the wheel is taken.
        recipe: says whether a fork is merged onto the source; then that must be possible too.
        interpreter: the target's Python: `requires_python` counts, classifiers do not.
        dependants: installed distributions that require what is replaced.
        request: a version, versions to avoid, and the name of the distribution that is made.

    Raises:
        RefusedError: not CPython, or the target forbids every version (or the named one); says who does.
        UsageError: the named version does not exist; the hint lists the nearest.
    """
    if interpreter.implementation != "cpython":
        raise RefusedError(
            f"{interpreter.executable} is {interpreter.implementation}: the core is built for CPython only",
            hint="keep stock Pillow there, or use a CPython environment: fastinstall setup --new-env ./fast-env",
        )
    question = _Question(releases, recipe, interpreter, dependants, request)
    offered = _select_requested(_list_offered(releases, request), question)
    judged = [(artefact, _find_obstacles(artefact, question)) for artefact in offered]
    for index, (artefact, found) in enumerate(judged):
        if not found:
            choice = _make_choice(artefact, question, _explain_choice(artefact, judged[:index], request))
            return replace(choice, caution=_explain_caution(choice, judged[index + 1 :], question))
    raise _make_refusal(judged, request)


@dataclass(frozen=True, slots=True)
class _Question:
    releases: Releases
    recipe: Recipe
    interpreter: Interpreter
    dependants: Sequence[Dependant]
    wish: Request


_Judged = tuple[Artefact, tuple[Obstacle, ...]]


def _list_offered(releases: Releases, request: Request) -> list[Artefact]:
    """Sources and prebuilt wheels of the wished name, newest first; at one base version the wheel first."""
    prebuilt = [wheel for wheel in releases.prebuilt if wheel.name == request.dist_name]

    def rank(artefact: Artefact) -> "tuple[Version, bool, Version]":
        return (
            parse_version_number(base_version(artefact.version)),
            artefact in prebuilt,
            parse_version_number(artefact.version),
        )

    return sorted((*releases.sources, *prebuilt), key=rank, reverse=True)


def _select_requested(offered: list[Artefact], question: _Question) -> list[Artefact]:
    releases, request, name = question.releases, question.wish, question.recipe.source.pypi
    if not offered:
        where = f"{releases.origin} offers no {name} that can be built"
        raise RefusedError(
            where, hint="look at the network and the index, or give --wheelhouse DIR with its sdist in it"
        )
    if request.version is None:
        stable = [artefact for artefact in offered if not parse_version_number(artefact.version).is_prerelease]
        return stable or offered
    named = [artefact for artefact in offered if _is_named(artefact, releases, request.version)]
    if not named:
        raise UsageError(
            f"--version {request.version}: {releases.origin} has no {name} of that version"
            f"{_describe_covered_versions(question.recipe)}",
            hint=f"the nearest: {listing(_list_nearest_versions(offered, request.version))}",
        )
    return named


def _describe_covered_versions(recipe: Recipe) -> str:
    return f" that {recipe.name} can build ({recipe.source.versions})" if recipe.source.versions else ""


def _is_named(artefact: Artefact, releases: Releases, version: str) -> bool:
    """A version with a local label is that of a wheel of ours, so it answers to the source that it was built from."""
    from packaging.version import InvalidVersion  # noqa: PLC0415 (slow to import; only where versions are compared)

    try:
        if artefact in releases.sources and "+" not in version:
            return parse_version_number(artefact.version) == parse_version_number(version)
        return base_version(artefact.version) == base_version(version)
    except InvalidVersion:
        raise UsageError(f"--version {version}: not a version", hint="give one like 13.0.0 or 12.1.1.post0") from None


def _list_nearest_versions(offered: list[Artefact], version: str) -> list[str]:
    wanted = parse_version_number(version)
    versions = list(dict.fromkeys(artefact.version for artefact in offered))
    above = [each for each in versions if parse_version_number(each) > wanted][-2:]
    below = [each for each in versions if parse_version_number(each) < wanted][:2]
    return above + below


def _find_obstacles(artefact: Artefact, question: _Question) -> tuple[Obstacle, ...]:
    request = question.wish
    version = artefact.version if artefact.name == request.dist_name else base_version(artefact.version)
    found = obstacles(artefact, version.partition("+")[0], question.interpreter, question.dependants)
    if artefact.version.partition("+")[0] in request.avoid:
        found = (*found, Obstacle(reason="it did not prove here", remedy=OTHER_RECIPE))
    merged = _find_merge(artefact, question)
    return (*found, merged) if isinstance(merged, Obstacle) else found


def _find_merge(artefact: Artefact, question: _Question) -> Merge | Obstacle | None:
    kernels = question.recipe.kernels
    if kernels is None or artefact not in question.releases.sources:
        return None
    return choose_merge(artefact, kernels, question.releases)


def _make_choice(artefact: Artefact, question: _Question, reason: str) -> VersionChoice:
    is_source = artefact in question.releases.sources
    base, merge = parse_version_number(base_version(artefact.version)), _find_merge(artefact, question)
    return VersionChoice(
        version=artefact.version.partition("+")[0],
        source=artefact if is_source else None,
        chassis=next(
            (wheel for wheel in question.releases.wheels if parse_version_number(wheel.version) == base), None
        ),
        kernels=merge.kernels if isinstance(merge, Merge) else None,
        base=merge.base if isinstance(merge, Merge) else None,
        prebuilt=None if is_source else artefact,
        reason=reason,
    )


def _explain_caution(choice: VersionChoice, others: list[_Judged], question: _Question) -> str:
    """What is said of a merge that was not proven on this version."""
    if question.recipe.kernels is None or choice.kernels is None:
        return ""
    fitting = [artefact.version.partition("+")[0] for artefact, found in others if not found]
    following = next((version for version in fitting if version != choice.version), None)
    named = question.wish.version is not None
    instead = "nothing is changed" if named or following is None else f"{following} is taken"
    return warn_about_unproven_version(choice.version, question.recipe.kernels, instead)


def _explain_choice(artefact: Artefact, passed: list[_Judged], request: Request) -> str:
    what = f"{artefact.name} {artefact.version}"
    if request.version is not None:
        return f"{what} as asked"
    if not passed:
        return f"{what} is the newest"
    newest, found = passed[0]
    return f"{what} is the newest that fits; not {newest.version}, because {found[0].reason}"


def _make_refusal(judged: list[_Judged], request: Request) -> RefusedError:
    newest, found = judged[0]
    what = (
        f"{newest.name} {newest.version}" if request.version else f"any {newest.name} (the newest is {newest.version})"
    )
    return RefusedError(
        f"the target does not allow {what}: {_list_reasons(found)}",
        hint=_suggest_way_out(judged),
        details=tuple(f"{each.version}: {_list_reasons(others)}" for each, others in judged[:_SHOWN]),
    )


def _list_reasons(found: tuple[Obstacle, ...]) -> str:
    return listing(obstacle.reason for obstacle in found)


def _suggest_way_out(judged: list[_Judged]) -> str:
    names = {obstacle.dependant for _, found in judged for obstacle in found if obstacle.dependant is not None}
    if not names:
        return judged[0][1][0].remedy
    return f"relax or remove {listing(map(quote, sorted(names)))}, or {OTHER_RECIPE}"
