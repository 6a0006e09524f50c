"""Choose the version to build: the newest that the target's Python and its installed distributions allow. Pure.

Also chooses the fork whose changes are merged onto that version, or explains what prevents it.
"""

from collections.abc import Sequence
from operator import itemgetter
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
        base: the sdist that the fork follows, at that version.
    """

    kernels: Artefact
    base: Artefact


def choose_merge(source: Artefact, kernels: Kernels, releases: Releases) -> Merge | Obstacle:
    """Return the newest fork that follows the source's version or an earlier one, with the sdist that it follows.

    Args:
        source: the sdist onto which its changes go.
        kernels: of the recipe.
        releases: sdists of the fork and of what it follows; official wheels, one of which must carry the result.
    """
    wanted = parse_version_number(source.version)
    if not any(parse_version_number(wheel.version) == wanted for wheel in releases.wheels):
        return Obstacle(reason="no official wheel for this Python", remedy=OTHER_PYTHON)
    forks = [(_parse_base_version(fork), parse_version_number(fork.version), fork) for fork in releases.kernels]
    earlier = sorted((each for each in forks if each[0] <= wanted), key=itemgetter(0, 1), reverse=True)
    if not earlier:
        return Obstacle(reason=f"no {kernels.pypi} for this or an earlier version", remedy=NO_SDIST)
    bases = {parse_version_number(base.version): base for base in reversed(releases.bases)}
    for followed, _, fork in earlier:
        if followed in bases:
            return Merge(kernels=fork, base=bases[followed])
    newest = earlier[0][2].version
    lacking = f"{kernels.follows} {base_version(newest)}, which {kernels.pypi} {newest} follows"
    return Obstacle(reason=f"no sdist of {lacking}", remedy=NO_SDIST)


def warn_about_unproven_version(version: str, kernels: Kernels, instead: str) -> str:
    """Return a warning for a version that the merge was not proven on; empty for a proven one.

    Args:
        version: of the source.
        kernels: of the recipe.
        instead: what happens if the proof fails ("13.0.0 is built instead").
    """
    proven = [parse_version_number(each) for each in kernels.proven]
    if parse_version_number(version) in proven:
        return ""
    newest = f"newest: {max(proven)}" if proven else "none yet"
    return (
        f"{version} is not among the versions that this merge was proven on ({newest}): "
        f"it is proven here before anything changes; if the proof fails, {instead}"
    )


def _parse_base_version(fork: Artefact) -> "Version":
    return parse_version_number(base_version(fork.version))


_SHOWN = 5


@immutable
class VersionChoice:
    """What is built, or used ready-made.

    Attributes:
        version: of the sdist, or of the prebuilt wheel if there is no sdist.
        source: the sdist, or None if a prebuilt wheel is used.
        chassis: the official wheel of the same base version, or None if none fits the target.
        kernels: the sdist of the fork to merge onto the source, or None if nothing is merged.
        base: the sdist of what that fork follows.
        prebuilt: a ready-made wheel of ours.
        reason: for people.
        caution: what is not known about this version yet; empty if nothing.
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
    """Return the newest version, or the requested one, if the target allows it.

    Args:
        releases: what is offered; a prebuilt wheel is preferred to an sdist of the same version.
        recipe: says whether a fork is merged onto the source, which must then be possible too.
        interpreter: the target's Python: `requires_python` counts, classifiers do not.
        dependants: installed distributions that require what is replaced.
        request: a version, versions to avoid, and the name of the distribution that is made.

    Raises:
        RefusedError: not CPython, or the target forbids every version (or the named one); says what forbids it.
        UsageError: the named version does not exist; the hint lists the nearest.
    """
    if interpreter.implementation != "cpython":
        raise RefusedError(
            f"{interpreter.executable} is {interpreter.implementation}: the core is built for CPython only",
            hint="keep stock Pillow there, or use a CPython environment: fastinstall setup --new-env ./fast-env",
        )
    judged: list[tuple[Artefact, list[Obstacle]]] = []
    merges: dict[Artefact, Merge] = {}
    for artefact in _select_requested(releases, recipe, request):
        version = artefact.version if artefact.name == request.dist_name else base_version(artefact.version)
        found = [*obstacles(artefact, _public(version), interpreter, dependants)]
        if _public(artefact.version) in request.avoid:
            found.append(
                Obstacle(reason="the request avoids it, as it does where a proof has failed", remedy=OTHER_RECIPE)
            )
        if recipe.kernels is not None and artefact in releases.sources:
            merge = choose_merge(artefact, recipe.kernels, releases)
            if isinstance(merge, Merge):
                merges[artefact] = merge
            else:
                found.append(merge)
        judged.append((artefact, found))
    fitting = [artefact for artefact, found in judged if not found]
    if not fitting:
        raise _make_refusal(judged, request)
    chosen, merged = fitting[0], merges.get(fitting[0])
    is_source, base = chosen in releases.sources, _parse_base_version(chosen)
    return VersionChoice(
        version=_public(chosen.version),
        source=chosen if is_source else None,
        chassis=next((wheel for wheel in releases.wheels if parse_version_number(wheel.version) == base), None),
        kernels=merged.kernels if merged else None,
        base=merged.base if merged else None,
        prebuilt=None if is_source else chosen,
        reason=_explain_choice(chosen, *judged[0], request),
        caution=_warn_if_unproven(fitting, recipe.kernels, request) if recipe.kernels and merged else "",
    )


def _public(version: str) -> str:
    return version.partition("+")[0]


def _explain_choice(chosen: Artefact, newest: Artefact, hindrances: list[Obstacle], request: Request) -> str:
    what = f"{chosen.name} {chosen.version}"
    if request.version is not None:
        return f"{what} as requested"
    if not hindrances:
        return f"{what} is the newest"
    return f"{what} is the newest that fits; not {newest.version}: {hindrances[0].reason}"


def _warn_if_unproven(fitting: list[Artefact], kernels: Kernels, request: Request) -> str:
    version, *others = (_public(each.version) for each in fitting)
    following = next((each for each in others if each != version), None)
    ends = request.version is not None or following is None
    return warn_about_unproven_version(
        version, kernels, "nothing is changed" if ends else f"{following} is built instead"
    )


def _select_requested(releases: Releases, recipe: Recipe, request: Request) -> list[Artefact]:
    """Return sources and prebuilt wheels of the requested name and version, newest first, wheels before sources."""
    prebuilt = [wheel for wheel in releases.prebuilt if wheel.name == request.dist_name]

    def rank(artefact: Artefact) -> "tuple[Version, bool, Version]":
        return _parse_base_version(artefact), artefact in prebuilt, parse_version_number(artefact.version)

    offered, name = sorted((*releases.sources, *prebuilt), key=rank, reverse=True), recipe.source.pypi
    if not offered:
        raise RefusedError(
            f"{releases.origin} offers no {name} that can be built",
            hint="check the network and the index, or pass --wheelhouse DIR with its sdist",
        )
    if request.version is None:
        stable = [artefact for artefact in offered if not parse_version_number(artefact.version).is_prerelease]
        return stable or offered
    named = [artefact for artefact in offered if _is_named(artefact, releases, request.version)]
    if not named:
        wanted = parse_version_number(request.version)
        versions = list(dict.fromkeys(artefact.version for artefact in offered))
        nearest = [each for each in versions if parse_version_number(each) > wanted][-2:]
        nearest += [each for each in versions if parse_version_number(each) < wanted][:2]
        covered = f" that {recipe.name} can build ({recipe.source.versions})" if recipe.source.versions else ""
        raise UsageError(
            f"--version {request.version}: {releases.origin} has no {name} of that version{covered}",
            hint=f"the nearest: {listing(nearest)}",
        )
    return named


def _is_named(artefact: Artefact, releases: Releases, version: str) -> bool:
    """Whether an artefact has this version; a local label marks a wheel of ours, which matches its source's version."""
    from packaging.version import InvalidVersion  # noqa: PLC0415 (slow to import; only where versions are compared)

    try:
        if artefact in releases.sources and "+" not in version:
            return parse_version_number(artefact.version) == parse_version_number(version)
        return base_version(artefact.version) == base_version(version)
    except InvalidVersion:
        raise UsageError(f"--version {version}: not a version", hint="use one like 13.0.0 or 12.1.1.post0") from None


def _make_refusal(judged: list[tuple[Artefact, list[Obstacle]]], request: Request) -> RefusedError:
    newest, hindrances = judged[0]
    what = f"{newest.name} {newest.version}"
    if not request.version:
        what = f"any {newest.name} (the newest is {newest.version})"
    reasons = [f"{each.version}: {listing(obstacle.reason for obstacle in found)}" for each, found in judged]
    names = {obstacle.dependant for _, found in judged for obstacle in found if obstacle.dependant is not None}
    relaxing = f"relax or remove {listing(map(quote, sorted(names)))}, or {OTHER_RECIPE}"
    return RefusedError(
        f"the environment does not allow {what}: {listing(obstacle.reason for obstacle in hindrances)}",
        hint=relaxing if names else hindrances[0].remedy,
        details=tuple(reasons[:_SHOWN]),
    )
