"""Describe the target of a build for another architecture: the same Python, on the architecture's lowest CPU. Pure.

That machine cannot be observed, so its CPU and C library are assumed to be the lowest that official wheels support.
"""

from dataclasses import replace

from fastinstall.compilers import list_compilers
from fastinstall.core.architecture import Architecture
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.elf.cpu import Cpu, list_level_features
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.machine import Toolchain
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, Request, ToolchainSource

_LIBC, _LIBC_VERSION = "glibc", "2.28"  # the platform tag of the official wheels requires it


def adapt_request(request: Request, recipe: Recipe, architecture: Architecture) -> Request:
    """Return the request for a build for another architecture, with the only toolchain that can cross-compile.

    Raises:
        RefusedError: the recipe does not support the architecture.
        UsageError: the request asks for libraries or a toolchain of this machine.
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
    """Return a description of this machine's Python as it would be on another architecture.

    Platform, C library and extension suffix are those of the other architecture.

    `executable` remains this machine's Python, which runs the build backend. This machine's C headers are not used.
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
    """Return the lowest CPU of an architecture, with this machine's number of cores, which run the compilers."""
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
    """Return facts for a build for an architecture: with its lowest CPU, and no compiler or library of this machine."""
    return replace(facts, cpu=describe_cpu(facts.cpu, architecture), toolchain=Toolchain(compiler=None))
