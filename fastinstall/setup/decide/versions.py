"""Choose the version to build: the newest that the target's Python and its installed distributions allow. Pure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version, parse_version_number, public_version
from fastinstall.index.upgrades import OTHER_PYTHON, OTHER_RECIPE, Obstacle, obstacles
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Dependant, Interpreter
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request

if TYPE_CHECKING:
    from packaging.version import Version


_SHOWN = 5


@immutable
class VersionChoice:
    """The chosen version, with the files to build or use.

    Attributes:
        version: the version of the sdist or of the prebuilt wheel, without a local label.
        source: the sdist; None if a prebuilt wheel is used.
        base_wheel: the official wheel of the same base version; None if none fits the target.
        prebuilt: our ready-made wheel; None if the wheel is built.
        reason: why this version was chosen, for the user.
    """

    version: str
    source: Artefact | None
    base_wheel: Artefact | None
    prebuilt: Artefact | None = None
    reason: str


def choose_version(
    releases: Releases, recipe: Recipe, interpreter: Interpreter, dependants: Sequence[Dependant], request: Request
) -> VersionChoice:
    """Return the newest version that the target allows, or the requested version if the target allows it.

    Args:
        releases: available files; a prebuilt wheel is preferred to an sdist of the same version.
        recipe: if it has kernels, a source fits only if its version has an official wheel to prove the kernels against.
        interpreter: the target's Python; it must satisfy `requires_python`. Classifiers are ignored.
        dependants: installed distributions that depend on the one that is replaced.
        request: may name a version, versions to avoid, and the name of the built distribution.

    Raises:
        RefusedError: the target forbids every version, or the requested one; the message names the causes.
        UsageError: the requested version does not exist; the hint lists the nearest ones.
    """
    judged: list[tuple[Artefact, list[Obstacle]]] = []
    for artefact in _select_requested(releases, recipe, request):
        version = artefact.version if artefact.name == request.dist_name else base_version(artefact.version)
        found = [*obstacles(artefact, public_version(version), interpreter, dependants)]
        if public_version(artefact.version) in request.avoid:
            found.append(
                Obstacle(reason="the request avoids it, as it does where a proof has failed", remedy=OTHER_RECIPE)
            )
        if recipe.kernels and artefact in releases.sources and _find_official(artefact, releases) is None:
            found.append(Obstacle(reason="no official wheel for this Python", remedy=OTHER_PYTHON))
        judged.append((artefact, found))
    fitting = [artefact for artefact, found in judged if not found]
    if not fitting:
        raise _make_refusal(judged, request)
    chosen = fitting[0]
    is_source = chosen in releases.sources
    return VersionChoice(
        version=public_version(chosen.version),
        source=chosen if is_source else None,
        base_wheel=_find_official(chosen, releases),
        prebuilt=None if is_source else chosen,
        reason=_explain_choice(chosen, *judged[0], request),
    )


def _find_official(artefact: Artefact, releases: Releases) -> Artefact | None:
    """Return the official wheel of an artefact's base version; None if there is none."""
    wanted = _parse_base_version(artefact)
    return next((wheel for wheel in releases.wheels if parse_version_number(wheel.version) == wanted), None)


def _parse_base_version(artefact: Artefact) -> "Version":
    return parse_version_number(base_version(artefact.version))


def _explain_choice(chosen: Artefact, newest: Artefact, hindrances: list[Obstacle], request: Request) -> str:
    what = f"{chosen.name} {chosen.version}"
    if request.version is not None:
        return f"{what} as requested"
    if not hindrances:
        return f"{what} is the newest"
    return f"{what} is the newest that fits; not {newest.version}: {hindrances[0].reason}"


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
    """Return whether an artefact has the requested version.

    Only base versions are compared for a ready-made wheel, or if the requested version has a local label.
    """
    from packaging.version import InvalidVersion  # slow to import; needed only to compare versions

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
