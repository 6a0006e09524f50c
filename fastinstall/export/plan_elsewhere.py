"""A plan for another machine: decided from a request and a minor version of Python, and nothing else of this machine.

It holds what a Dockerfile needs to know. Requests that depend on this machine are refused with a reason.
"""

import importlib.metadata
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fastinstall import __version__
from fastinstall.compilers import find_compiler
from fastinstall.core.architecture import X86_64
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.elf.cpu_levels import LEVELS
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings
from fastinstall.model.artefact import Artefact, Releases, make_labelled_version, parse_labelled_levels
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import InstalledStack, Interpreter
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import EnvironmentKind, LinkMode, PlanRisk, Request
from fastinstall.observe.active_environment import NamedTarget, base_python, find, is_active_elsewhere
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.level_choice import list_requested_levels, refuse_unknown, sort_recipe_levels
from fastinstall.plan.make import defer_pip_settings, make_index
from fastinstall.plan.native_libraries import choose_statics
from fastinstall.plan.risks import (
    describe_version_advisories,
    find_version_risks,
    make_consent_hint,
    mark_allowed_risks,
)
from fastinstall.plan.versions import VersionChoice, choose_version
from fastinstall.wheelbuild.tool_dependencies import environment_of


@immutable
class Wheelhouse:
    """A directory with the stack's wheel, from which it is taken instead of being compiled.

    Attributes:
        directory: of `fastinstall build -o`, absolute.
        wheel: the one that fits.
        has_tool: whether fastinstall itself lies there too (`build --with-tool`).
    """

    directory: PurePath
    wheel: Artefact
    has_tool: bool


@immutable
class PlanExport:
    """What was decided.

    Attributes:
        python: minor version of the Python that it is for: "3.12".
        prefix: of the environment, absolute, on the other machine.
        wish: with version and levels named, and without what speaks of this machine.
        flags: the words that ask for it.
        distribution: name of the distribution that is made.
        version: of it, with the local label ("13.0.0+simd.v2.v3").
        sources: sdists and the official wheel that it is made from; empty if there is a wheelhouse.
        packages: of the operating system (apt), that compiling takes.
        wheelhouse: where the wheel lies; None: it is compiled.
        tool: the fastinstall that does it, as pip takes it ("fastinstall==1.2.0").
        tool_pins: what it needs, likewise, sorted.
        command: that made this, to be shown.
        warnings: what a person should know (advisories).
    """

    python: str
    prefix: PurePath
    wish: Request
    flags: tuple[str, ...] = ()
    distribution: str
    version: str
    sources: tuple[Artefact, ...]
    packages: tuple[str, ...]
    wheelhouse: Wheelhouse | None
    tool: str
    tool_pins: tuple[str, ...]
    command: str = ""
    warnings: tuple[str, ...] = ()


PREFIX = PurePath("/opt/fast-env")
"""Where the environment lies unless --new-env or --prefix says otherwise."""

_PLAIN = re.compile(r"[\w./+-]+", re.ASCII)
_COMPILER = ("gcc", "libc6-dev")
_OLDEST = (3, 11)
_LATEST_PATCH = 99
_LIBC = "2.36"


def portable(recipe: Recipe, request: Request) -> Request:
    """The wish for a machine that is not this one: levels for every CPU, and nothing that is here alone."""
    named = list_requested_levels(request)
    usual = [level.name for level in recipe.levels if level.automatic and level.name in LEVELS]
    levels = named or tuple(level.name for level in sort_recipe_levels(recipe, usual))
    alone = len(named) == 1
    wish = replace(request, level=named[0] if alone else "auto", levels=() if alone else levels)
    return replace(wish, wheelhouse=None, offline=False, upgrade=False, avoid=())


_NO_CONDA = "cannot be exported as a Dockerfile"
_INSTEAD_OF_CONDA = (
    "pass a Python instead: --python python3.12; or build conda packages: fastinstall build --format conda -o DIR"
)


def refuse_unportable(request: Request) -> None:
    """Raise if a wish is tied to this machine, or to what a Dockerfile does not make.

    Raises:
        RefusedError: names the flag.
    """
    if request.link is not LinkMode.BUNDLE:
        raise RefusedError(
            f"--link {request.link}: cannot be exported, because it ties the wheel to this machine's libraries",
            hint="leave it out: the wheel then bundles the libraries",
        )
    by_engine = request.engine in (CondaInstaller.CONDA, CondaInstaller.RATTLER)
    compiler = find_compiler(request.toolchain)
    if by_engine or request.channels or (compiler is not None and compiler.brings_headers):
        raise RefusedError(f"conda packages {_NO_CONDA}", hint=_INSTEAD_OF_CONDA)
    if request.offline and request.wheelhouse is None:
        raise RefusedError(
            "--offline needs --wheelhouse: without it the other machine cannot get the stack",
            hint="fastinstall build -o DIR --with-tool; then --wheelhouse DIR",
        )
    if "native" in list_requested_levels(request):
        raise RefusedError(
            "--level native: an image runs on other CPUs than the one that builds it",
            hint="pass the levels: --levels x86-64-v2,x86-64-v3",
        )


def refuse_python(minor: str) -> None:
    """Raise if the one Python of an image could not run fastinstall.

    Raises:
        RefusedError: it is older than 3.11.
    """
    if tuple(map(int, minor.split("."))) < _OLDEST:
        raise RefusedError(
            f"the image would have Python {minor}, but fastinstall needs 3.11 or later",
            hint="--python python3.12; or build a wheel here, and let the image's pip install it: "
            f"fastinstall build -o DIR --python python{minor}",
        )


def refuse_place(path: PurePath) -> None:
    """Raise if a path cannot stand in a Dockerfile.

    Raises:
        UsageError: it is relative, and nothing there says to what; or has characters that do not belong into it.
    """
    if not path.is_absolute() or not _PLAIN.fullmatch(str(path)):
        raise UsageError(
            f"{quote(path)}: a path in a Dockerfile must be absolute and contain no spaces or special characters",
            hint=f"use a path such as {quote(PREFIX)}",
        )


def refuse_risks(hazards: Iterable[PlanRisk], request: Request) -> None:
    """Raise if the other machine would refuse: nobody is there to accept a risk.

    Raises:
        RefusedError: names each.
    """
    risks = tuple(hazard for hazard in hazards if not hazard.allowed)
    if risks:
        raise RefusedError(
            "; ".join(hazard.summary for hazard in risks),
            hint=make_consent_hint(risks, request.allow),
            details=tuple(item for hazard in risks for item in hazard.items[:6]),
        )


def system_packages(recipe: Recipe, request: Request) -> tuple[str, ...]:
    """Debian's packages that compiling the core takes; Python's headers come with Python."""
    wanted = (
        library
        for name, library in recipe.libraries.items()
        if library.core and not library.static and (library.in_wheels or library.required or name in request.require)
    )
    return tuple(dict.fromkeys((*_COMPILER, *(package for library in wanted for package in library.apt))))


def foreign_python(minor: str) -> Interpreter:
    """CPython of a minor version as it is on the other machine: the latest patch, with headers and glibc."""
    digits = minor.replace(".", "")
    prefix = PurePath("/usr/local")
    return Interpreter(
        executable=PurePath(f"python{minor}"),
        implementation="cpython",
        version=f"{minor}.{_LATEST_PATCH}",
        abi=f"cp{digits}",
        platform=f"linux-{X86_64.machine}",
        libc="glibc",
        libc_version=_LIBC,
        free_threaded=False,
        extension_suffix=f".cpython-{digits}-{X86_64.target}.so",
        prefix=prefix,
        base_prefix=prefix,
        site_packages=prefix / f"lib/python{minor}/site-packages",
        include=prefix / f"include/python{minor}",
        has_headers=True,
    )


_MINOR = re.compile(r"(?:python)?(3\.\d+)")
_NAME = "fastinstall"


def export(session: Session, target: NamedTarget, request: Request) -> PlanExport:
    """Decide what a Dockerfile is to do.

    Args:
        session: where variables and recipes come from.
        target: `new` or `prefix` is where the environment will lie on the other machine. Its Python is the one of an
            environment that is there or active here, or `python`: an interpreter, or only a name ("python3.12").
        request: what to build. With a wheelhouse, the wheel in it is taken, and no index is asked.

    Raises:
        RefusedError: it cannot be carried to another machine, or would be refused there.
        FastinstallError: as planner and index say.
    """
    recipe = recipe_named(session, request.recipe)
    refuse_unknown(recipe, request)
    refuse_unportable(request)
    prefix = PurePath(target.new or target.prefix or PREFIX)
    refuse_place(prefix)
    if request.wheelhouse is not None:
        refuse_place(request.wheelhouse)
    minor = _find_minor(session, target)
    refuse_python(minor)
    releases = _find_releases(session, recipe, request, minor)
    interpreter = foreign_python(minor)
    choice = choose_version(releases, recipe, interpreter, (), request)
    hazards = find_version_risks(recipe, InstalledStack(directory=None), choice.version, interpreter, elsewhere=True)
    refuse_risks(mark_allowed_risks(hazards, request.allow), request)
    prebuilt = choice.prebuilt
    inside = parse_labelled_levels(recipe, prebuilt.version) if prebuilt else ()
    named = replace(request, level="auto", levels=inside) if inside else request
    carried = replace(portable(recipe, named), version=choice.version.partition("+")[0])
    return PlanExport(
        python=minor,
        prefix=prefix,
        wish=carried,
        distribution=request.dist_name,
        version=prebuilt.version if prebuilt else _make_label(recipe, carried),
        sources=() if prebuilt else _list_sources(recipe, releases, choice),
        packages=() if prebuilt or request.with_system_deps else system_packages(recipe, request),
        wheelhouse=_make_wheelhouse(request, prebuilt),
        tool=f"{_NAME}=={__version__}",
        tool_pins=tool_pins(minor),
        warnings=describe_version_advisories(recipe, choice.version),
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


def _find_minor(session: Session, target: NamedTarget) -> str:
    """The minor version of the target's Python; one that is only named need not be here."""
    if target.python is not None:
        named = _MINOR.fullmatch(target.python.name)
        return named[1] if named is not None else _get_minor(observe_interpreter(target.python))
    there = target.prefix is not None and target.prefix.is_dir()
    if not there and (target.new or target.prefix or not is_active_elsewhere(session)):
        return _get_minor(observe_interpreter(base_python(session)))
    environment = find(session, NamedTarget(prefix=target.prefix if there else None))
    if environment.kind is EnvironmentKind.CONDA:
        raise RefusedError(f"{environment.prefix} is a conda environment, which {_NO_CONDA}", hint=_INSTEAD_OF_CONDA)
    return _get_minor(observe_interpreter(Path(environment.python)))


def _get_minor(interpreter: Interpreter) -> str:
    if interpreter.free_threaded:
        raise RefusedError(
            f"{interpreter.executable} is a free-threaded Python, but the official images are not",
            hint="pass the Python you mean: --python python3.13",
        )
    return ".".join(interpreter.version.split(".")[:2])


def _find_releases(session: Session, recipe: Recipe, request: Request, minor: str) -> Releases:
    """What there is; of a wheelhouse the wheels of ours alone, those of the levels that are asked for."""
    python = foreign_python(minor)
    if request.wheelhouse is None:
        session.emit(Started(stage="index", message=f"looking up {recipe.source.pypi} for Python {minor}"))
        return make_index(session, request, defer_pip_settings(session, base_python(session))).releases(recipe, python)
    index = PackageIndex(settings=PipSettings(), wheelhouse=Path(request.wheelhouse), offline=True)
    found = index.releases_for((recipe,), python)[recipe.name]
    asked = {level.name for level in sort_recipe_levels(recipe, list_requested_levels(request))}
    fitting = tuple(
        each for each in found.prebuilt if not asked or asked == {*parse_labelled_levels(recipe, each.version)}
    )
    if not fitting:
        levels = f" with {listing(sorted(asked))}" if asked else ""
        raise RefusedError(
            f"{request.wheelhouse} has no wheel of {recipe.name} for Python {minor}{levels}",
            hint=f"fastinstall build -o {quote(request.wheelhouse)} --python python{minor}",
        )
    return replace(found, sources=(), prebuilt=fitting)


def _make_label(recipe: Recipe, request: Request) -> str:
    levels = sort_recipe_levels(recipe, list_requested_levels(request))
    return make_labelled_version(recipe, request.version or "", [level.name for level in levels], request.dist_name)


def _list_sources(recipe: Recipe, releases: Releases, choice: VersionChoice) -> tuple[Artefact, ...]:
    statics = choose_statics(recipe, releases, LinkMode.BUNDLE).artefacts.values()
    found = (choice.source, *statics, choice.chassis)
    return tuple(each for each in found if each is not None)


def _make_wheelhouse(request: Request, wheel: Artefact | None) -> Wheelhouse | None:
    if request.wheelhouse is None or wheel is None:
        return None
    tool = Path(request.wheelhouse) / "tool"
    return Wheelhouse(directory=request.wheelhouse, wheel=wheel, has_tool=any(tool.glob(f"{_NAME}-*.whl")))
