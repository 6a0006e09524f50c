"""Choose which native libraries a build enables, and where their headers come from. Pure."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from fastinstall.compilers import find_compiler, list_compilers
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Facts
from fastinstall.model.machine import Toolchain
from fastinstall.model.recipe import BuildNeeds, Recipe
from fastinstall.model.request import PlanRisk, Request, Risk
from fastinstall.observe.conda.channels import DEFAULTS, NO_DEFAULTS
from fastinstall.setup.decide.levels import refuse_unknown
from fastinstall.setup.steps.prepare import CondaToolchain, PrivateHeaders, SystemPackages


@immutable
class NativeChoice:
    """Libraries that the build links, and steps that fetch missing headers and compilers.

    Attributes:
        enabled: the recipe's names of the libraries that the build enables.
        steps: steps that fetch missing headers and compilers.
        plan_risk: the risk that features are lost because the build omits libraries; None if it omits none.
    """

    enabled: tuple[str, ...]
    steps: tuple[SystemPackages | PrivateHeaders | CondaToolchain, ...] = ()
    plan_risk: PlanRisk | None = None


def choose_libraries(
    recipe: Recipe,
    facts: Facts,
    request: Request,
    statics: Collection[str],
    headers: Mapping[str, Artefact],
    *,
    base_wheel: bool,
) -> NativeChoice:
    """Decide for each library of the recipe whether the build enables it, and how to get missing headers.

    With a base wheel (an official wheel), only the core is built. It needs only headers, as the wheel contains the
    libraries.
    Without a base wheel, the build uses all libraries that the machine has. A library that is linked statically from
    its own sdist needs nothing from the machine.

    Args:
        recipe: lists the libraries, with their packages for each package manager.
        facts: compilers, libraries and headers of this machine.
        request: required libraries, and how missing headers and compilers may be fetched.
        statics: the recipe's names of libraries that are built from their own sdists.
        headers: packages of C headers; keys are the recipe's names of libraries, and Python's as "python3.12".
        base_wheel: whether the core is placed in an official wheel.

    Raises:
        UsageError: `--require` names a library that the recipe does not define.
        RefusedError: a compiler, Python's headers or a required library is missing and may not be fetched.
    """
    refuse_unknown(recipe, request, facts.cpu.architecture)
    toolchain = facts.toolchain or Toolchain(compiler=None)
    from_conda = _comes_with_headers(request)
    if toolchain.named_compiler and toolchain.compiler is None and not from_conda:
        raise RefusedError(
            f"CC={toolchain.named_compiler}: not a C compiler that runs here",
            hint="unset CC, or set one that works: CC=gcc",
        )
    wanted = list_wanted_libraries(recipe, request, base_wheel=base_wheel)
    usable = {each.name for each in toolchain.libraries if each.include and (base_wheel or each.library)}
    there = set() if from_conda and base_wheel else usable
    absent = tuple(name for name in wanted if name not in statics and name not in there)
    here = tuple(
        name
        for name in recipe.libraries
        if name not in absent and (name in wanted or (not base_wheel and name in usable))
    )
    has_compiler = toolchain.compiler is not None and not from_conda
    tools = (*(() if has_compiler else ("compiler",)), *(() if facts.interpreter.has_headers else ("Python.h",)))
    need = _LibraryNeeds(
        recipe=recipe,
        facts=facts,
        toolchain=toolchain,
        request=request,
        tools=tools,
        absent=absent,
        here=here,
        headers=headers,
    )
    return _bring_what_is_missing(need, base_wheel=base_wheel) if absent or need.tools else NativeChoice(enabled=here)


def list_wanted_libraries(recipe: Recipe, request: Request, *, base_wheel: bool) -> tuple[str, ...]:
    """List the libraries that a build enables if no headers are missing."""
    return tuple(
        name
        for name, library in recipe.libraries.items()
        if (library.core or not base_wheel)
        and (library.required or name in request.require or (base_wheel and library.in_wheels))
    )


def may_have_made(compiler: str, facts: Facts, request: Request, private: Path) -> bool:
    """Return whether a cached wheel may be used, judged by the compiler that built it.

    1. If the requested compiler brings its own headers, only wheels built by a compiler in `private` may be used. 2. If
    this machine has a compiler and Python's headers, only wheels built by that compiler. 3. Otherwise wheels built by
    any compiler, but none if CC names a program that does not work or if the toolchain was not observed.

    Args:
        compiler: `Compiler.text` of the compiler that built the wheel.
        facts: the toolchain and headers of this machine.
        request: says which compiler and headers to use.
        private: the directory of compilers that fastinstall fetched.
    """
    toolchain = facts.toolchain
    if _comes_with_headers(request):
        return compiler.startswith(f"{private}/")
    if toolchain is None:
        return False
    if toolchain.compiler is not None and facts.interpreter.has_headers:
        return compiler == toolchain.compiler.text
    return not (toolchain.named_compiler and toolchain.compiler is None)


def _comes_with_headers(request: Request) -> bool:
    """Return whether the requested compiler comes with its own headers, so that the machine's are not used."""
    asked = find_compiler(request.toolchain)
    return asked is not None and asked.brings_headers


@immutable
class _LibraryNeeds:
    """Missing and available inputs of a build.

    Attributes:
        tools: missing tools: "compiler", "Python.h".
        absent: the recipe's names of libraries whose headers are missing.
        here: the recipe's names of libraries that the build can enable without further headers.
        headers: packages of C headers that can be fetched; keys are the recipe's names of libraries, and "python3.12".
    """

    recipe: Recipe
    facts: Facts
    toolchain: Toolchain
    request: Request
    tools: tuple[str, ...]
    absent: tuple[str, ...]
    here: tuple[str, ...]
    headers: Mapping[str, Artefact]

    def list_header_packages(self) -> tuple[Artefact, ...] | None:
        """Return the packages of all missing headers; None if packages of headers cannot supply all missing inputs."""
        python = self.facts.interpreter
        usual = python.libc == "glibc" and python.abi.removesuffix("t") == f"cp{python.minor.replace('.', '')}"
        keys = {"Python.h": f"python{python.minor}" if usual else ""}
        wanted = (*(keys.get(tool, "") for tool in self.tools), *self.absent)
        return tuple(self.headers[key] for key in wanted) if all(key in self.headers for key in wanted) else None

    @property
    def has_system_packages(self) -> bool:
        """Whether system packages can supply all missing inputs: they have no headers of a free-threaded Python."""
        return not (self.facts.interpreter.free_threaded and "Python.h" in self.tools)

    @property
    def of_system(self) -> BuildNeeds:
        """The missing inputs that the operating system's packages can supply."""
        python = self.facts.interpreter
        return BuildNeeds(
            libraries=tuple(self.recipe.libraries[name] for name in self.absent),
            python=python.minor if "Python.h" in self.tools and not python.free_threaded else "",
            compiler="compiler" in self.tools,
        )


def _bring_what_is_missing(need: _LibraryNeeds, *, base_wheel: bool) -> NativeChoice:
    """Decide how to get missing inputs, or which libraries to build without.

    Raises:
        RefusedError: a tool or a required library is missing and cannot be fetched.
    """
    what = listing([*need.tools, *(f"the headers of {name}" for name in need.absent)])
    step = _plan_bringing(need, what, base_wheel=base_wheel)
    steps = () if step is None else (step,)
    comes_whole = base_wheel or not isinstance(step, CondaToolchain)
    if step is not None and (comes_whole or not need.absent):
        return NativeChoice(enabled=(*need.here, *need.absent), steps=steps)
    essential = [name for name in need.absent if need.recipe.libraries[name].required or name in need.request.require]
    if essential or (need.tools and step is None):
        toolchain = need.toolchain
        hint = need.of_system.explain(
            toolchain.package_manager, allowed=toolchain.may_install, as_root=toolchain.as_root
        )
        raise RefusedError(f"missing: {what}", hint=hint)
    plan_risk = PlanRisk(
        risk=Risk.FEATURE_LOSS,
        summary=f"missing: {what}; the core is built without {listing(need.absent)}, which the official wheel has",
        items=need.absent,
    )
    return NativeChoice(enabled=need.here, steps=steps, plan_risk=plan_risk)


def _plan_bringing(
    need: _LibraryNeeds, what: str, *, base_wheel: bool
) -> SystemPackages | PrivateHeaders | CondaToolchain | None:
    """Return the step that gets missing tools and headers; None if nothing can supply them.

    System packages are used only if requested. Without a base wheel, conda packages supply no libraries' headers.
    """
    request, manager = need.request, need.toolchain.package_manager
    from_conda = _comes_with_headers(request)
    by_system = request.with_system_deps and need.toolchain.may_install and need.has_system_packages
    if by_system and manager is not None and not from_conda:
        return SystemPackages(
            manager=manager, packages=need.of_system.list_packages(manager), reason=f"missing: {what}"
        )
    packages = need.list_header_packages() if base_wheel else None
    if packages is not None:
        return PrivateHeaders(
            packages=tuple(each.name for each in packages),
            libraries=need.absent,
            python=need.of_system.python,
            artefacts=packages,
            reason=f"missing: {what}; unpacked into fastinstall's cache, not installed on the system",
        )
    return _plan_conda_toolchain(need, need.absent if base_wheel else ())


def _plan_conda_toolchain(need: _LibraryNeeds, names: Sequence[str]) -> CondaToolchain | None:
    """Return the step that makes a private conda prefix with tools and headers.

    Args:
        need: missing and available inputs of the build.
        names: the recipe's names of the libraries whose headers the prefix must have.

    Returns:
        The step; None if the request excludes conda packages, or if no compiler can be installed from them.
    """
    asked = find_compiler(need.request.toolchain)
    if asked is not None and asked.is_exclusive:
        return None
    libraries = {name: need.recipe.libraries[name].conda for name in names}
    # the default channels have no compiler
    channels = tuple(each for each in need.toolchain.channels if each not in (DEFAULTS, NO_DEFAULTS))
    offers = (
        each.choose_packages(need.facts, need.request, need.tools, libraries, channels) for each in list_compilers()
    )
    chosen = next(filter(None, offers), None)
    if chosen is None:
        return None
    return CondaToolchain(
        channels=chosen.channels, packages=chosen.packages, libraries=tuple(names), reason=chosen.reason
    )
