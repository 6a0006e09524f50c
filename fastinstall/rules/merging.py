"""Which fork's changes are merged onto a version of the source, and what stands in the way. Pure."""

from typing import TYPE_CHECKING

from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import Kernels
from fastinstall.rules.numbering import base_version, parsed
from fastinstall.rules.obstacles import NO_SDIST, OTHER_PYTHON, Obstacle

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


def merge_onto(source: Artefact, kernels: Kernels, releases: Releases) -> Merge | Obstacle:
    """The newest fork that follows the source's version or an earlier one, with the sdist of what it follows.

    Args:
        source: the sdist onto which its changes go.
        kernels: of the recipe.
        releases: sdists of the fork and of what it follows; official wheels, one of which must carry the result.
    """
    wanted = parsed(source.version)
    if not any(parsed(wheel.version) == wanted for wheel in releases.wheels):
        return Obstacle(reason="no official wheel for this Python", remedy=OTHER_PYTHON)
    earlier = sorted((fork for fork in releases.kernels if _base(fork) <= wanted), key=_age, reverse=True)
    if not earlier:
        return Obstacle(reason=f"no {kernels.pypi} to merge at or before it", remedy=NO_SDIST)
    found = (Merge(kernels=fork, base=base) for fork in earlier for base in releases.bases if _follows(fork, base))
    return next(found, None) or _without_base(earlier[0], kernels)


def unproven(version: str, kernels: Kernels, instead: str) -> str:
    """A sentence of caution for a version that the merge was not proven on; empty for one that it was.

    Args:
        version: of the source.
        kernels: of the recipe.
        instead: what happens if the merge does not prove ("13.0.0 is taken").
    """
    proven = [parsed(each) for each in kernels.proven]
    if parsed(version) in proven:
        return ""
    newest = f"{max(proven)} is the newest" if proven else "there is none yet"
    return (
        f"{version} is not among the versions that this merge was proven on ({newest}): "
        f"it is proven here before anything is touched; if it does not prove, {instead}"
    )


def _without_base(fork: Artefact, kernels: Kernels) -> Obstacle:
    followed = f"{kernels.follows} {base_version(fork.version)}"
    return Obstacle(reason=f"no sdist of {followed}, which {kernels.pypi} {fork.version} follows", remedy=NO_SDIST)


def _follows(fork: Artefact, base: Artefact) -> bool:
    return _base(fork) == parsed(base.version)


def _age(fork: Artefact) -> "tuple[Version, Version]":
    return _base(fork), parsed(fork.version)


def _base(fork: Artefact) -> "Version":
    return parsed(base_version(fork.version))
