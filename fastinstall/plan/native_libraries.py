"""Which native libraries a build enables, and where their headers come from. Pure.

Which libraries are built from an sdist and linked into the core, and which stay the system's.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from fastinstall.conda.compiler_prefix import COMPILER
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Facts
from fastinstall.model.machine import NativeLibrary, Toolchain
from fastinstall.model.recipe import NativeRequirement, Recipe
from fastinstall.model.request import LinkMode, PlanRisk, Request, Risk, ToolchainSource
from fastinstall.observe.conda.channels import DEFAULTS, NO_DEFAULTS
from fastinstall.plan.level_choice import refuse_unknown
from fastinstall.steps.conda_toolchain import CondaToolchain
from fastinstall.steps.kinds import Step
from fastinstall.steps.private_headers import PrivateHeaders
from fastinstall.steps.system_packages import SystemPackages

_COMPILER = {"apt": ("gcc", "libc6-dev"), "dnf": ("gcc",)}
_CONDA_COMPILER = ("c-compiler",)


@immutable
class NativeChoice:
    """What the build links and what must be brought for it.

    Attributes:
        enabled: libraries that the build enables, by the recipe's names.
        steps: how missing headers and compilers come.
        missing: libraries that the build goes without.
        hazard: the loss that `missing` means, if any.
    """

    enabled: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    missing: tuple[str, ...] = ()
    hazard: PlanRisk | None = None


def choose_libraries(
    recipe: Recipe, facts: Facts, request: Request, *, chassis: bool, statics: Collection[str] = ()
) -> NativeChoice:
    """Decide about every library of the recipe.

    With a chassis only the core is built, and only headers are needed: the official wheel brings the
    libraries themselves. Without one, everything that is found is used. A library that is linked in from its own
    sdist needs nothing of the machine.

    Args:
        recipe: knows the libraries.
        facts: what this machine has.
        request: which of them must be there, and how the missing ones may come.
        chassis: whether an official wheel carries the core.
        statics: libraries that are built from their own sdists.

    Raises:
        UsageError: `--require` names a library that the recipe does not know.
        RefusedError: a compiler, Python's headers or a required library is missing and may not be brought.
    """
    refuse_unknown(recipe, request)
    from_conda = request.toolchain is ToolchainSource.CONDA
    tools = ("compiler", *_list_missing_headers(facts)) if from_conda else _list_missing_tools(facts)
    if not from_conda:
        _refuse_broken_choice(facts, tools)
    wanted = list_wanted_libraries(recipe, request, chassis=chassis)
    replaced = from_conda and chassis
    absent = tuple(
        name for name in wanted if name not in statics and (replaced or not _is_usable(facts, name, chassis=chassis))
    )
    here = tuple(
        name
        for name, library in recipe.libraries.items()
        if name not in absent
        and (name in wanted or (not chassis and _is_usable(facts, name, chassis=False)))
        and (library.core or not chassis)
    )
    if not absent and not tools:
        return NativeChoice(enabled=here)
    return _bring_what_is_missing(_LibraryNeeds(recipe, facts, request, tools, absent, here), chassis=chassis)


def list_wanted_libraries(recipe: Recipe, request: Request, *, chassis: bool) -> tuple[str, ...]:
    """The libraries that a build has where everything is there that it may need."""

    def is_wanted(name: str) -> bool:
        library = recipe.libraries[name]
        if chassis:
            return library.core and (library.in_wheels or library.required or name in request.require)
        return library.required or name in request.require

    return tuple(name for name in recipe.libraries if is_wanted(name))


def may_have_made(compiler: str, facts: Facts, request: Request, private: Path) -> bool:
    """Whether a wheel that this compiler made is what would be made here.

    Where everything is here that compiles, it is the very compiler that would be used. Where something is missing,
    any compiler may have made it.

    Args:
        compiler: as `Compiler.text` has it.
        facts: what is here.
        request: where compiler and headers come from.
        private: where compilers of conda packages lie.
    """
    toolchain = facts.toolchain
    if request.toolchain is ToolchainSource.CONDA:
        return compiler.startswith(f"{private}/")
    if toolchain is None or not _list_missing_tools(facts):
        return toolchain is not None and toolchain.compiler is not None and compiler == toolchain.compiler.text
    return not (toolchain.named_compiler and toolchain.compiler is None)


@dataclass(frozen=True, slots=True)
class _LibraryNeeds:
    recipe: Recipe
    facts: Facts
    wish: Request
    tools: tuple[str, ...]
    absent: tuple[str, ...]
    here: tuple[str, ...]

    @property
    def manager(self) -> str | None:
        return self.facts.toolchain.package_manager if self.facts.toolchain else None

    def list_packages(self, manager: str) -> tuple[str, ...]:
        tools = {
            "compiler": _COMPILER.get(manager, _CONDA_COMPILER),
            "Python.h": (_name_header_package(self.facts, manager),),
        }
        names = [name for tool in self.tools for name in tools[tool]]
        names += [package for name in self.absent for package in getattr(self.recipe.libraries[name], manager)]
        return tuple(dict.fromkeys(names))


def _refuse_broken_choice(facts: Facts, missing_tools: tuple[str, ...]) -> None:
    named = facts.toolchain.named_compiler if facts.toolchain else ""
    if named and "compiler" in missing_tools:
        raise RefusedError(
            f"CC={named}: this is no C compiler that runs here",
            hint="unset CC, or name one that works: CC=gcc",
        )


def _list_missing_tools(facts: Facts) -> tuple[str, ...]:
    compiler = facts.toolchain is not None and facts.toolchain.compiler is not None
    return (() if compiler else ("compiler",)) + _list_missing_headers(facts)


def _list_missing_headers(facts: Facts) -> tuple[str, ...]:
    return () if facts.interpreter.has_headers else ("Python.h",)


def _is_usable(facts: Facts, name: str, *, chassis: bool) -> bool:
    found = next((library for library in _list_observed_libraries(facts) if library.name == name), None)
    return found is not None and found.include is not None and (chassis or found.library is not None)


def _list_observed_libraries(facts: Facts) -> Iterable[NativeLibrary]:
    return facts.toolchain.libraries if facts.toolchain else ()


def _bring_what_is_missing(need: _LibraryNeeds, *, chassis: bool) -> NativeChoice:
    """By the system's packages where that is wished, else without touching the system, else not at all."""
    what = listing([*need.tools, *(f"the headers of {name}" for name in need.absent)])
    step = _plan_system_packages(need, what) or _plan_private_headers(need, what, chassis=chassis)
    step = step or _plan_missing_from_conda(need, chassis=chassis)
    if step is None:
        return _leave_out_libraries(need, what)
    if chassis or not isinstance(step, CondaToolchain):
        return NativeChoice(enabled=(*need.here, *need.absent), steps=(step,), missing=())
    rest = _leave_out_libraries(replace(need, tools=()), what) if need.absent else NativeChoice(enabled=need.here)
    return replace(rest, steps=(step,))


def _plan_system_packages(need: _LibraryNeeds, what: str) -> Step | None:
    may_install = need.facts.toolchain is not None and need.facts.toolchain.may_install
    if need.wish.toolchain is ToolchainSource.CONDA or not need.wish.with_system_deps:
        return None
    if need.manager is None or not may_install:
        return None
    return SystemPackages(manager=need.manager, packages=need.list_packages(need.manager), reason=f"missing: {what}")


def _plan_private_headers(need: _LibraryNeeds, what: str, *, chassis: bool) -> Step | None:
    if need.tools or not chassis or need.manager != "apt" or need.wish.offline:
        return None
    return PrivateHeaders(
        manager=need.manager,
        packages=need.list_packages(need.manager),
        libraries=need.absent,
        reason=f"missing: {what}; unpacked into fastinstall's cache, the system stays as it is",
    )


def _plan_missing_from_conda(need: _LibraryNeeds, *, chassis: bool) -> Step | None:
    """A private prefix; where libraries are linked and not only their headers used, the compiler alone."""
    libraries = {name: need.recipe.libraries[name] for name in need.absent} if chassis else {}
    if not libraries and not need.tools:
        return None
    return _plan_conda_toolchain(need.tools, libraries, need.facts, need.wish)


def _leave_out_libraries(need: _LibraryNeeds, what: str) -> NativeChoice:
    essential = [name for name in need.absent if need.recipe.libraries[name].required or name in need.wish.require]
    if need.tools or essential:
        raise RefusedError(f"missing: {what}", hint=_explain_installation(need))
    hazard = PlanRisk(
        risk=Risk.FEATURE_LOSS,
        summary=f"without {what}, the core is built without {listing(need.absent)}, which the official wheel has",
        items=need.absent,
    )
    return NativeChoice(enabled=need.here, steps=(), missing=need.absent, hazard=hazard)


def _explain_installation(need: _LibraryNeeds) -> str:
    if need.manager is not None and need.facts.toolchain is not None and need.facts.toolchain.may_install:
        return "run again with --with-system-deps to install " + " ".join(need.list_packages(need.manager))
    commands = {"apt": "sudo apt-get install", "dnf": "sudo dnf install", "conda": "conda install -c conda-forge"}
    chosen = [need.manager] if need.manager else list(commands)
    ways = [f"{commands[name]} {' '.join(need.list_packages(name))}" for name in chosen]
    return "; or ".join((*ways, *_explain_private_installation(need)))


def _explain_private_installation(need: _LibraryNeeds) -> tuple[str, ...]:
    """How py-rattler, once it is there, could bring it without any right to install."""
    toolchain = need.facts.toolchain
    helpful = toolchain is not None and not toolchain.rattler and need.wish.toolchain is ToolchainSource.AUTO
    extra = make_extra_command(need.facts)
    return (f"{extra}, and fastinstall brings it as conda packages into its cache",) if helpful else ()


def _name_header_package(facts: Facts, manager: str) -> str:
    minor = ".".join(facts.interpreter.version.split(".")[:2])
    return {"apt": f"python{minor}-dev", "dnf": f"python{minor}-devel"}.get(manager, "python")


_USUAL_CHANNEL = "conda-forge"


def _plan_conda_toolchain(
    tools: Collection[str], libraries: dict[str, NativeRequirement], facts: Facts, request: Request
) -> CondaToolchain | None:
    """The step that brings them, where that is wished or the only way; None otherwise.

    Args:
        tools: what is missing: "compiler", "Python.h".
        libraries: whose headers are missing, by the recipe's names.
        facts: what this machine has.
        request: where they may come from.

    Raises:
        RefusedError: it is wished, and py-rattler is not there.
    """
    wished = request.toolchain is ToolchainSource.CONDA
    here = facts.toolchain is not None and facts.toolchain.rattler
    if wished and not here:
        raise RefusedError(
            "--toolchain conda: py-rattler is not installed beside fastinstall", hint=make_extra_command(facts)
        )
    if not wished and (request.toolchain is ToolchainSource.SYSTEM or not here or request.offline):
        return None
    missing = listing([*tools, *(f"the headers of {name}" for name in libraries)])
    why = "asked for by --toolchain conda" if wished else f"missing: {missing}"
    return CondaToolchain(
        channels=_choose_toolchain_channels(facts.toolchain, request),
        packages=tuple(dict.fromkeys(_list_toolchain_packages(tools, libraries.values(), facts))),
        libraries=tuple(libraries),
        reason=f"{why}; a private prefix in fastinstall's cache, and nothing of it in the environment",
    )


def make_extra_command(facts: Facts) -> str:
    """The command that makes conda packages available without a conda: into the environment of fastinstall itself."""
    return f"{quote(facts.tool_prefix / 'bin/python')} -m pip install 'fastinstall[conda]'"


def _list_toolchain_packages(
    tools: Collection[str], libraries: Iterable[NativeRequirement], facts: Facts
) -> Iterable[str]:
    if "compiler" in tools:
        yield COMPILER
    if "Python.h" in tools:
        yield f"python {'.'.join(facts.interpreter.version.split('.')[:2])}.*"
    for library in libraries:
        yield from library.conda


def _choose_toolchain_channels(toolchain: Toolchain | None, request: Request) -> tuple[str, ...]:
    """As wished; else as conda is configured, where that is more than conda's own channels, which have no compiler."""
    configured = toolchain.channels if toolchain is not None else ()
    usual = tuple(channel for channel in configured if channel not in (DEFAULTS, NO_DEFAULTS))
    return request.channels or usual or (_USUAL_CHANNEL,)


@immutable
class StaticChoice:
    """Libraries that are linked into the core.

    Attributes:
        artefacts: their sdists, by the recipe's names of the libraries.
        reasons: for people, one for each library that the recipe would link in.
    """

    artefacts: dict[str, Artefact]
    reasons: tuple[str, ...]

    def select_enabled(self, enabled: Collection[str]) -> dict[str, Artefact]:
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
