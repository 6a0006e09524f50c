"""Choose which libraries are built from an sdist and linked into the core; the others stay the system's. Pure."""

from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode


@immutable
class StaticChoice:
    """Libraries that are linked into the core.

    Attributes:
        artefacts: their sdists, by the recipe's names of the libraries.
        reasons: for people, one for each library that the recipe would link in.
    """

    artefacts: dict[str, Artefact]
    reasons: tuple[str, ...]


def choose_statics(recipe: Recipe, releases: Releases, link: LinkMode) -> StaticChoice:
    """Choose the newest sdist of each such library; one without an sdist is taken from the system.

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
            reasons.append(f"{name} from {sdists[0].name} {sdists[0].version}, linked in: {library.static.reason}")
        else:
            reasons.append(f"the system's {name}: {releases.origin} has no sdist of {library.static.pypi}")
    return StaticChoice(artefacts=artefacts, reasons=tuple(reasons))
