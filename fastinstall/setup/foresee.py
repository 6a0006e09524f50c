"""Describe environments that cannot be observed: one that does not exist yet, and one on another architecture.

The CPU and C library of another machine are assumed to be the lowest that official wheels support.
"""

import os
from dataclasses import replace
from pathlib import Path

from fastinstall.compilers import list_compilers
from fastinstall.core.architecture import Architecture
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.messages import quote
from fastinstall.core.refused_writes import advice, reason, refuse_forbidden_place, refuse_noexec
from fastinstall.elf.cpu import Cpu, list_level_features
from fastinstall.model.facts import Environment, EnvironmentKind, Facts, ImportSource, InstalledStack, Interpreter
from fastinstall.model.guards import GuardState
from fastinstall.model.machine import Toolchain
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, Request, ToolchainSource
from fastinstall.observe import observation
from fastinstall.observe.environments import USUAL_NAMES, NamedTarget, base_python, is_environment, make_absolute
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.session import Session
from fastinstall.setup.steps.create_environment import CreateEnvironment

_ELSEWHERE = "choose another directory for the environment: --new-env DIR"


def foresee_facts(
    session: Session, recipe: Recipe, made: tuple[CreateEnvironment, Interpreter], *, toolchain: bool = True
) -> Facts:
    """Return the facts of a new environment as it will be after its creation, with nothing installed.

    Only facts about this machine and session are observed; all others have the defaults of `Facts`.
    """
    create, interpreter = made
    base = Environment(prefix=interpreter.base_prefix, kind=EnvironmentKind.SYSTEM, python=create.python)
    observed = observation.facts_of(session, base, observation.ObservationRequest(recipe=recipe, toolchain=toolchain))
    constraints = tuple(each for each in observed.stack.dependants if each.constraints is not None)
    return Facts(
        environment=Environment(prefix=create.prefix, kind=EnvironmentKind.VENV, python=interpreter.executable),
        active=observed.active,
        tool_prefix=observed.tool_prefix,
        writable=True,
        cpu=observed.cpu,
        interpreter=interpreter,
        distributions=(),
        stack=InstalledStack(directory=None, dependants=constraints),
        guard=GuardState(installed=False),
        toolchain=observed.toolchain,
        gpu=observed.gpu,
    )


def plan_creation(target: NamedTarget) -> tuple[CreateEnvironment, Interpreter] | None:
    """Return the step that creates a new environment, and the interpreter of that environment; None if not requested.

    Raises:
        RefusedError: the directory is not empty, or no environment can be created in it.
    """
    if target.new is None:
        return None
    prefix = make_absolute(expand_home(target.new))
    _refuse_occupied(prefix)
    refuse_noexec(prefix, _ELSEWHERE)
    refuse_forbidden_place(prefix, "no environment can be made there", _ELSEWHERE)
    base = observe_interpreter(target.python or base_python())
    step = CreateEnvironment(prefix=prefix, python=base.executable, reason="requested by --new-env")
    return step, relocate_interpreter(base, prefix)


def relocate_interpreter(base: Interpreter, prefix: Path) -> Interpreter:
    """Return the interpreter that a virtual environment will have if it is created from `base`."""
    minor = base.minor + ("t" if base.free_threaded else "")
    return replace(
        base,
        executable=prefix / "bin" / "python",
        prefix=prefix,
        site_packages=prefix / "lib" / f"python{minor}" / "site-packages",
        externally_managed=None,
        pip_version=None,
        shadows=tuple(shadow for shadow in base.shadows if shadow.source is not ImportSource.USER_SITE),
    )


def _refuse_occupied(prefix: Path) -> None:
    """Raise RefusedError if the directory for an environment is not empty or cannot be read."""
    try:
        content = os.listdir(prefix)  # noqa: PTH208 (its errors name the path)
    except FileNotFoundError:
        return
    except OSError as error:
        other = "name another directory: --new-env DIR"
        hint = other if isinstance(error, NotADirectoryError) else advice(error, prefix)
        raise RefusedError(f"{reason(error, prefix)}: no environment can be made there", hint=hint) from error
    if is_environment(prefix):
        raise RefusedError(f"--new-env {prefix}: already exists", hint=f"use it instead: --prefix {quote(prefix)}")
    if content:
        raise RefusedError(
            f"--new-env {prefix}: already exists, and is not a Python environment",
            hint=f"name a directory that does not exist yet: --new-env {quote(prefix / USUAL_NAMES[0])}",
        )


_LIBC, _LIBC_VERSION = "glibc", "2.28"  # the lowest version that the platform tag of the official wheels allows


def adapt_request(request: Request, recipe: Recipe, architecture: Architecture) -> Request:
    """Adapt a request to a build for another architecture: choose the only toolchain that can cross-compile.

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
    # CPython's configure calls this SOABI: the ABI with its flags, and the triplet of the platform (PEP 3149).
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
    """Return the lowest CPU of an architecture. The number of cores is this machine's: compilers run here."""
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
    """Adapt facts to a build for another architecture: set its lowest CPU, and drop the toolchain of this machine."""
    return replace(facts, cpu=describe_cpu(facts.cpu, architecture), toolchain=Toolchain(compiler=None))
