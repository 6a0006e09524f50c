"""The target of a build for another architecture: the same Python, and the least CPU there. Pure.

Nothing of such a machine is at hand, so nothing of it is observed. What is assumed here is what every machine has that
the official wheels run on.
"""

from dataclasses import replace

from fastinstall.compilers import list_compilers
from fastinstall.core.architecture import Architecture
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.elf.cpu import Cpu, list_level_features
from fastinstall.model.facts import Facts, Interpreter, Toolchain
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, Request, ToolchainSource

_LIBC, _LIBC_VERSION = "glibc", "2.28"  # which the official wheels need, by their platform tag


def adapt_request(request: Request, recipe: Recipe, architecture: Architecture) -> Request:
    """Return a request that is built for machines of another architecture, by the one compiler that can.

    Raises:
        RefusedError: the recipe builds nothing for them.
        UsageError: the request names what belongs to this machine.
    """
    known = [level.name for level in recipe.list_levels(architecture.machine)]
    if not known:
        raise RefusedError(
            f"{recipe.name} has no level for {architecture.title}", hint="choose another recipe: --recipe pillow-fast"
        )
    option = f"--machine {architecture.machine}"
    if request.link is not LinkMode.BUNDLE:
        raise UsageError(
            f"{option}: --link {request.link} uses libraries of this machine", hint="drop --link, or build there"
        )
    able = next(each.word for each in list_compilers() if each.crosses)
    if request.toolchain not in (ToolchainSource.AUTO, able):
        raise UsageError(
            f"{option}: only --toolchain {able} compiles for other machines",
            hint=f"drop --toolchain {request.toolchain}, or build there",
        )
    return replace(request, toolchain=able, with_system_deps=False)


def describe_python(interpreter: Interpreter, architecture: Architecture) -> Interpreter:
    """Return a Python of this machine as it is on another: what it runs on, and how its extension modules are called.

    Its program stays the one of this machine, which runs the build's backend. Its own C headers are of this machine.
    """
    # SOABI of CPython's configure: the ABI with its flags, and the triplet of the platform (PEP 3149).
    suffix = f".cpython-{interpreter.abi.removeprefix('cp')}-{architecture.target}.so"
    return replace(
        interpreter,
        platform=f"linux-{architecture.machine}",
        extension_suffix=suffix,
        libc=_LIBC,
        libc_version=_LIBC_VERSION,
        has_headers=False,
    )


def describe_cpu(here: Cpu, architecture: Architecture) -> Cpu:
    """Return what every CPU of an architecture has; the compilers may use as many cores as this machine grants."""
    level = architecture.levels[0].name
    return Cpu(
        architecture=architecture.machine,
        name=f"every {architecture.title} CPU",
        flags=list_level_features(level),
        level=level,
        cores=here.cores,
        quota=here.quota,
    )


def describe_facts(facts: Facts, architecture: Architecture) -> Facts:
    """Return the facts of a build for another architecture: no compiler and no library of this machine takes part."""
    return replace(facts, cpu=describe_cpu(facts.cpu, architecture), toolchain=Toolchain(compiler=None))
