"""Open the resources that a plan needs: the package index, conda's engine, and the run that holds both."""

import os
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.core.refused_writes import refuse_unusable_cache
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings, pip_settings
from fastinstall.index.run import Run
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaTool
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session


def open_run(
    session: Session, request: Request, python: Path, engine: CondaInstaller | None = None, prefix: Path | None = None
) -> Run:
    """Open a run with the resources to fetch, build and install.

    Args:
        session: variables, directories, clock and event listener of this run.
        request: recipe, wheelhouse, and whether the run is offline.
        python: the interpreter whose pip settings name the index.
        engine: the engine that installs conda packages; None if the plan has none.
        prefix: root of the environment whose conda program is used; None without such an environment.

    Raises:
        RefusedError: the cache cannot be used for a build, or the engine is not available.
    """
    cache = session.own_cache()
    refuse_unusable_cache(cache)
    opened = None
    if engine is not None:
        from fastinstall.observe.conda.executable import find_conda  # noqa: PLC0415 (only for conda packages)

        opened = make_engine(session, engine, find_conda(session.variables, prefix), offline=request.offline)
    return Run(
        session=session,
        recipe=recipe_named(session, request.recipe),
        index=make_index(session, request, defer_pip_settings(session, python)),
        cache=cache,
        cpu=observe_cpu(
            allowed_cores=len(os.sched_getaffinity(0)), tunables=session.variables.get("GLIBC_TUNABLES", "")
        ),
        engine=opened,
    )


def make_engine(session: Session, engine: CondaInstaller, tool: CondaTool | None, *, offline: bool) -> CondaEngine:
    """Open an engine that uses this session's variables and cache.

    Raises:
        RefusedError: the engine is not available.
    """
    from fastinstall.conda.engines.choose import open_engine  # noqa: PLC0415 (only for conda packages)

    return open_engine(engine, tool, session.variables, session.own_cache() / "conda", offline=offline)


def make_index(session: Session, request: Request, settings: Callable[[], PipSettings]) -> PackageIndex:
    """Return the package index of pip's settings, with the wheelhouse of the request."""
    return PackageIndex(
        settings=settings,
        wheelhouse=Path(request.wheelhouse) if request.wheelhouse else None,
        offline=request.offline,
        cache=session.own_cache(),
    )


def defer_pip_settings(session: Session, python: Path) -> Callable[[], PipSettings]:
    """Return a function that reads pip's settings for a target at its first call, and caches them."""
    return cache(partial(pip_settings, python, session.variables))


def start_index(session: Session, recipe: Recipe, request: Request, python: Path) -> PackageIndex:
    """Return a package index; unless offline, a thread reads its settings while the caller observes the target."""
    names = listing(dict.fromkeys((recipe.source.pypi, recipe.source.base_wheel)))
    session.emit(Started(stage="index", message=f"looking up {names}"))
    if request.offline:
        return make_index(session, request, defer_pip_settings(session, python))
    RunningProbe(partial(import_module, "fastinstall.index.client"))  # takes 0.2 s, in parallel with other processes
    return make_index(session, request, RunningProbe(partial(pip_settings, python, session.variables)).result)
