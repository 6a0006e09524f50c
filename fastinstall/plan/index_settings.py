"""The package index as the target's pip is configured, or the wheelhouse."""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.core.process import RunningProbe
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip_indexes import PipSettings, pip_settings
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe.session import Session


def make_index(session: Session, request: Request, settings: Callable[[], PipSettings]) -> PackageIndex:
    """Return the package index, as the target's pip is configured, or the wheelhouse of the request."""
    return PackageIndex(
        settings=settings,
        wheelhouse=Path(request.wheelhouse) if request.wheelhouse else None,
        offline=request.offline,
        cache=session.own_cache(),
    )


def defer_pip_settings(session: Session, python: Path) -> Callable[[], PipSettings]:
    """Return pip's settings for a target, to be found out when they are first asked for."""
    return cache(partial(pip_settings, python, session.variables))


def start_index(session: Session, recipe: Recipe, request: Request, python: Path) -> PackageIndex:
    """Return an index whose settings are being found out while the target is observed."""
    names = listing(dict.fromkeys((recipe.source.pypi, recipe.source.base_wheel)))
    session.emit(Started(stage="index", message=f"looking up {names}"))
    if request.offline:
        return make_index(session, request, defer_pip_settings(session, python))
    RunningProbe(partial(import_module, "fastinstall.index.client"))  # 0.2 s, while processes are waited for
    return make_index(session, request, RunningProbe(partial(pip_settings, python, session.variables)).result)
