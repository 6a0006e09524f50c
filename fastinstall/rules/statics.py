"""Which libraries are built from an sdist and linked into the core, and which stay the system's. Pure."""

from collections.abc import Collection

from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import LinkMode


@immutable
class StaticChoice:
    """Libraries that are linked into the core.

    Attributes:
        artefacts: their sdists, by the recipe's names of the libraries.
        reasons: for people, one for each library that the recipe would link in.
    """

    artefacts: dict[str, Artefact]
    reasons: tuple[str, ...]

    def of(self, enabled: Collection[str]) -> dict[str, Artefact]:
        """The sdists of the libraries that a build enables."""
        return {name: artefact for name, artefact in self.artefacts.items() if name in enabled}


def choose_statics(recipe: Recipe, releases: Releases, link: LinkMode) -> StaticChoice:
    """The newest sdist of each such library; where there is none, the system's library does.

    With another link mode than "bundle" none is linked in: there the libraries are those that were asked for.
    """
    artefacts: dict[str, Artefact] = {}
    reasons: list[str] = []
    for name, library in recipe.libraries.items():
        if library.static is None or link is not LinkMode.BUNDLE:
            continue
        sdists = releases.statics.get(name, ())
        if sdists:
            artefacts[name] = sdists[0]
            reasons.append(f"{name} by {sdists[0].name} {sdists[0].version}, linked in: {library.static.reason}")
        else:
            reasons.append(f"{name} of the system: {releases.origin} has no sdist of {library.static.pypi}")
    return StaticChoice(artefacts=artefacts, reasons=tuple(reasons))
