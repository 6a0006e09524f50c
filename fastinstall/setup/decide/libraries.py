"""Choose which native libraries a build enables, and where their headers come from. Pure."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from fastinstall.compilers import find_compiler, list_compilers
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Facts, Interpreter
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

    With a base wheel (an official wheel), only the core is built. This needs only the libraries' headers, because the
    wheel contains the libraries. Without a base wheel, the build uses all libraries that the machine has. A library
    that is linked statically from its own sdist needs nothing from the machine.

    Args:
        recipe: lists the libraries, with their packages for each package manager.
        facts: compilers, libraries and headers of this machine.
        request: required libraries, and how missing headers and compilers may be fetched.
        statics: the recipe's names of libraries that are built from their own sdists.
        headers: packages of C headers; keys are the recipe's names of libraries, and "python3.12" for Python's headers.
        base_wheel: whether the core is placed in an official wheel.

    Raises:
        UsageError: `--require` names a library that the recipe does not define.
        RefusedError: a compiler, Python's headers or a required library is missing and may not be fetched.
    """
    refuse_unknown(recipe, request, facts.cpu.architecture)
    toolchain, python = facts.toolchain or Toolchain(compiler=None), facts.interpreter
    from_conda = _comes_with_headers(request)
    if toolchain.named_compiler and toolchain.compiler is None and not from_conda:
        raise RefusedError(
            f"CC={toolchain.named_compiler}: not a C compiler that runs here",
            hint="unset CC, or set one that works: CC=gcc",
        )
    wanted = list_wanted_libraries(recipe, request, base_wheel=base_wheel)
    usable = {each.name for each in toolchain.libraries if each.include and (base_wheel or each.library)}
    present = set() if from_conda and base_wheel else usable
    absent = tuple(name for name in wanted if name not in statics and name not in present)
    available = wanted if base_wheel else (*wanted, *usable)
    here = tuple(name for name in recipe.libraries if name in available and name not in absent)
    has_compiler = toolchain.compiler is not None and not from_conda
    tools = (*(() if has_compiler else ("compiler",)), *(() if python.has_headers else ("Python.h",)))
    if not absent and not tools:
        return NativeChoice(enabled=here)
    needs = BuildNeeds(
        libraries=tuple(recipe.libraries[name] for name in absent),
        python=python.minor if "Python.h" in tools and not python.free_threaded else "",
        compiler="compiler" in tools,
    )
    missing = f"missing: {listing([*tools, *(f'the headers of {name}' for name in absent)])}"
    packages = _list_header_packages(python, tools, absent, headers) if base_wheel else None
    # System packages have no headers of a free-threaded Python.
    by_system = request.with_system_deps and toolchain.may_install and not from_conda
    step: SystemPackages | PrivateHeaders | CondaToolchain | None
    if by_system and toolchain.package_manager is not None and ("Python.h" not in tools or needs.python):
        manager = toolchain.package_manager
        step = SystemPackages(manager=manager, packages=needs.list_packages(manager), reason=missing)
    elif packages is not None:
        step = PrivateHeaders(
            packages=tuple(each.name for each in packages),
            libraries=absent,
            python=needs.python,
            artefacts=packages,
            reason=f"{missing}; unpacked into fastinstall's cache, not installed on the system",
        )
    else:  # without a base wheel, the build needs the libraries too, not only the headers that this step would fetch
        named = absent if base_wheel else ()
        step = _plan_conda_toolchain(facts, request, tools, {name: recipe.libraries[name].conda for name in named})
    if step is not None and (base_wheel or not absent or not isinstance(step, CondaToolchain)):
        return NativeChoice(enabled=(*here, *absent), steps=(step,))
    is_essential = any(recipe.libraries[name].required or name in request.require for name in absent)
    if is_essential or (tools and step is None):
        hint = needs.explain(toolchain.package_manager, allowed=toolchain.may_install, as_root=toolchain.as_root)
        raise RefusedError(missing, hint=hint)
    plan_risk = PlanRisk(
        risk=Risk.FEATURE_LOSS,
        summary=f"{missing}; the core is built without {listing(absent)}, which the official wheel has",
        items=absent,
    )
    return NativeChoice(enabled=here, steps=() if step is None else (step,), plan_risk=plan_risk)


def _list_header_packages(
    python: Interpreter, tools: Sequence[str], libraries: Sequence[str], headers: Mapping[str, Artefact]
) -> tuple[Artefact, ...] | None:
    """Return packages with all missing headers; None if something, such as a compiler, is in no known package."""
    usual = python.libc == "glibc" and python.abi.removesuffix("t") == f"cp{python.minor.replace('.', '')}"
    keys = {"Python.h": f"python{python.minor}" if usual else ""}
    wanted = (*(keys.get(tool, "") for tool in tools), *libraries)
    return tuple(headers[key] for key in wanted) if all(key in headers for key in wanted) else None


def _plan_conda_toolchain(
    facts: Facts, request: Request, tools: tuple[str, ...], libraries: Mapping[str, tuple[str, ...]]
) -> CondaToolchain | None:
    """Return the step that makes a private conda prefix with the missing tools and headers.

    Args:
        facts: facts of this machine and the target.
        request: names the compiler and the channels.
        tools: missing tools: "compiler", "Python.h".
        libraries: conda packages with the headers that the prefix must have; keys are the recipe's names of the
            libraries.

    Returns:
        The step; None if the requested toolchain excludes conda packages, or if no compiler can be installed from them.
    """
    asked = find_compiler(request.toolchain)
    if asked is not None and asked.is_exclusive:
        return None
    # conda's default channels have no compiler
    known = facts.toolchain.channels if facts.toolchain is not None else ()
    channels = tuple(channel for channel in known if channel not in (DEFAULTS, NO_DEFAULTS))
    offers = (each.choose_packages(facts, request, tools, libraries, channels) for each in list_compilers())
    chosen = next(filter(None, offers), None)
    if chosen is None:
        return None
    return CondaToolchain(
        channels=chosen.channels, packages=chosen.packages, libraries=tuple(libraries), reason=chosen.reason
    )


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

    The first of these conditions that holds decides:

    1. The requested compiler brings its own headers: only a compiler in `private` may have built the wheel.
    2. The toolchain was not observed: no wheel may be used.
    3. This machine has a compiler and Python's headers: only that compiler may have built the wheel.
    4. CC names a program that is not a working compiler: no wheel may be used.
    5. Otherwise, any compiler may have built the wheel.

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
    """Return whether the requested compiler comes with its own headers, so that the machine's headers are not used."""
    asked = find_compiler(request.toolchain)
    return asked is not None and asked.brings_headers
