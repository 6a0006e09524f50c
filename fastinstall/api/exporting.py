"""A plan for elsewhere: decided from a wish and a minor version of Python, and from nothing else of this machine."""

import importlib.metadata
import re
from dataclasses import replace
from pathlib import Path, PurePath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fastinstall import __version__
from fastinstall.api.observing import recipe_named
from fastinstall.api.planning import index_for, settings_of
from fastinstall.api.session import Session
from fastinstall.api.target import Target, base_python, find, is_active_elsewhere
from fastinstall.errors import RefusedError
from fastinstall.installers.index import PackageIndex
from fastinstall.installers.pip import PipSettings
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.event import Started
from fastinstall.model.export import Export, Tool, Wheelhouse
from fastinstall.model.facts import Interpreter, Stack
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import LinkMode, Wish
from fastinstall.probes.interpreter import observe_interpreter
from fastinstall.rules.choose import in_order
from fastinstall.rules.export import (
    PREFIX,
    Form,
    foreign_python,
    portable,
    refuse_conda,
    refuse_place,
    refuse_python,
    refuse_risks,
    refuse_unportable,
    system_packages,
)
from fastinstall.rules.hazards import known_against, version_hazards, weighed
from fastinstall.rules.labels import labelled_levels, labelled_version
from fastinstall.rules.messages import listing, quote
from fastinstall.rules.statics import choose_statics
from fastinstall.rules.tool_closure import environment_of
from fastinstall.rules.versions import Choice, newest_fitting
from fastinstall.rules.wishes import asked_levels, refuse_unknown

_MINOR = re.compile(r"(?:python)?(3\.\d+)")
_NAME = "fastinstall"


def export(session: Session, target: Target, wish: Wish, form: Form) -> Export:
    """Decide what a script or an image's file is to do.

    Args:
        session: where variables and recipes come from.
        target: `new` or `prefix` is where the environment will lie on the other machine. Its Python is the one of an
            environment that is there or active here, or `python`: an interpreter, or only a name ("python3.12").
        wish: what to build. With a wheelhouse, the wheel in it is taken, and no index is asked.
        form: what it is for.

    Raises:
        RefusedError: it cannot be carried to another machine, or would be refused there.
        FastinstallError: as planner and index say.
    """
    recipe = recipe_named(session, wish.recipe)
    refuse_unknown(recipe, wish)
    refuse_unportable(wish, form)
    prefix = PurePath(target.new or target.prefix or PREFIX)
    refuse_place(prefix, form)
    if wish.wheelhouse is not None:
        refuse_place(wish.wheelhouse, form)
    minor = _minor_of(session, target)
    refuse_python(minor, form)
    releases = _releases(session, recipe, wish, minor)
    interpreter = foreign_python(minor)
    choice = newest_fitting(releases, recipe, interpreter, (), wish)
    hazards = version_hazards(recipe, Stack(directory=None), choice.version, interpreter, elsewhere=True)
    refuse_risks(weighed(hazards, wish.allow), wish)
    carried = _carried(recipe, wish, choice)
    return Export(
        python=minor,
        prefix=prefix,
        wish=carried,
        distribution=wish.dist_name,
        version=choice.prebuilt.version if choice.prebuilt else _labelled(recipe, carried),
        sources=_sources(recipe, releases, choice),
        packages=() if choice.prebuilt or wish.with_system_deps else system_packages(recipe, wish),
        wheelhouse=_wheelhouse(wish, choice),
        tool=Tool(requirement=f"{_NAME}=={__version__}", pins=tool_pins(minor)),
        warnings=known_against(recipe, choice.version),
    )


def tool_pins(minor: str) -> tuple[str, ...]:
    """What fastinstall needs under a Python, at the versions that it runs with here; what is not here has no pin.

    Args:
        minor: of the Python that is to run it: "3.12".
    """
    found: dict[str, str] = {}
    waiting = [Requirement(_NAME)]
    environment = environment_of(minor)
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        distribution = next(iter(importlib.metadata.distributions(name=name)), None)
        if name in found or distribution is None:
            continue
        found[name] = f"{name}=={distribution.version}"
        lines = map(Requirement, distribution.requires or ())
        waiting += [line for line in lines if line.marker is None or line.marker.evaluate({**environment, "extra": ""})]
    return tuple(sorted(found[name] for name in found.keys() - {_NAME}))


def _minor_of(session: Session, target: Target) -> str:
    """The minor version of the target's Python; one that is only named need not be here."""
    if target.python is not None:
        named = _MINOR.fullmatch(target.python.name)
        return named[1] if named is not None else _minor(observe_interpreter(target.python))
    there = target.prefix is not None and target.prefix.is_dir()
    if not there and (target.new or target.prefix or not is_active_elsewhere(session)):
        return _minor(observe_interpreter(base_python(session)))
    environment = find(session, Target(prefix=target.prefix if there else None))
    if environment.kind is EnvironmentKind.CONDA:
        refuse_conda(environment.prefix)
    return _minor(observe_interpreter(Path(environment.python)))


def _minor(interpreter: Interpreter) -> str:
    if interpreter.free_threaded:
        raise RefusedError(
            f"{interpreter.executable} has no global interpreter lock, and images of Python have one",
            hint="name the Python that is meant: --python python3.13",
        )
    return ".".join(interpreter.version.split(".")[:2])


def _releases(session: Session, recipe: Recipe, wish: Wish, minor: str) -> Releases:
    """What there is; of a wheelhouse the wheels of ours alone, those of the levels that are asked for."""
    python = foreign_python(minor)
    if wish.wheelhouse is None:
        session.emit(Started(stage="index", message=f"looking up {recipe.source.pypi} for Python {minor}"))
        return index_for(session, wish, settings_of(session, base_python(session))).releases(recipe, python)
    index = PackageIndex(settings=PipSettings(), wheelhouse=Path(wish.wheelhouse), offline=True)
    found = index.releases_for((recipe,), python)[recipe.name]
    asked = {level.name for level in in_order(recipe, asked_levels(wish))}
    fitting = tuple(each for each in found.prebuilt if not asked or asked == {*labelled_levels(recipe, each.version)})
    if not fitting:
        levels = f" with {listing(sorted(asked))}" if asked else ""
        raise RefusedError(
            f"{wish.wheelhouse} has no wheel of {recipe.name} for Python {minor}{levels}",
            hint=f"fastinstall build -o {quote(wish.wheelhouse)} --python python{minor}",
        )
    return replace(found, sources=(), prebuilt=fitting)


def _carried(recipe: Recipe, wish: Wish, choice: Choice) -> Wish:
    """The wish with what was decided, as words for the other machine."""
    version = choice.version.partition("+")[0]
    inside = labelled_levels(recipe, choice.prebuilt.version) if choice.prebuilt else ()
    named = replace(wish, level="auto", levels=inside) if inside else wish
    return replace(portable(recipe, named), version=version)


def _labelled(recipe: Recipe, wish: Wish) -> str:
    levels = in_order(recipe, asked_levels(wish))
    return labelled_version(recipe, wish.version or "", [level.name for level in levels], wish.dist_name)


def _sources(recipe: Recipe, releases: Releases, choice: Choice) -> tuple[Artefact, ...]:
    if choice.prebuilt is not None:
        return ()
    statics = choose_statics(recipe, releases, LinkMode.BUNDLE).artefacts.values()
    found = (choice.source, choice.kernels, choice.base, *statics, choice.chassis)
    return tuple(each for each in found if each is not None)


def _wheelhouse(wish: Wish, choice: Choice) -> Wheelhouse | None:
    if wish.wheelhouse is None or choice.prebuilt is None:
        return None
    tool = Path(wish.wheelhouse) / "tool"
    return Wheelhouse(directory=wish.wheelhouse, wheel=choice.prebuilt, has_tool=any(tool.glob(f"{_NAME}-*.whl")))
