"""Observe a target whole: every probe, those that wait for a subprocess at the same time as the others.

The probes that read files are imported only when the subprocesses are on their way: importing them
takes as long as running them, and doctor is used at every turn.
"""

# ruff: noqa: PLC0415 (for that reason)

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.model.conda import Conda
from fastinstall.model.core import Core
from fastinstall.model.cpu import Cpu
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.facts import Distribution, Facts, GuardState, Interpreter, LoadingFacts, Runtime, Stack
from fastinstall.model.gpu import Gpu
from fastinstall.model.immutable import immutable
from fastinstall.model.isa import IsaScan
from fastinstall.model.linkage import Linkage
from fastinstall.model.machine import Toolchain
from fastinstall.model.process import LiveProcess
from fastinstall.model.recipe import Recipe
from fastinstall.probes.concurrently import Running
from fastinstall.probes.interpreter import observe_interpreter

if TYPE_CHECKING:
    from fastinstall.probes.stack import Loader


class Binaries(Enum):
    """How deep to look into PIL's extension modules, beside the core itself."""

    CORE = "the core alone"
    LINKED = "what a process would load, and what is known already of the code"
    DECODED = "what a process would load, and the code, instruction by instruction"
    DESCRIBED = "all of that, and what the core tells about its making"


@immutable
class ObservationRequest:
    """What to look at.

    Attributes:
        recipe: which names, symbols, flags and libraries to look for.
        runtime: also import and use PIL, in a subprocess of the target.
        started: the same, where it is under way already.
        binaries: how deep to look into PIL's extension modules.
        scans: the directory that keeps what was decoded of them; None keeps nothing.
        process: a process that runs already; what it was started with decides what the loader finds.
        toolchain: also look for compiler, libraries and package manager.
        include_roots: include directories that the toolchain's libraries may stand in, before the system's.
        interpreter: the target's Python, where it was asked already, or is being asked.
        cpu: the processor, where it was observed already.
        thorough: read the files of PIL; else those count as recorded that have not changed since by size and times.
    """

    recipe: Recipe
    runtime: bool = False
    started: Running[Runtime] | None = None
    binaries: Binaries = Binaries.CORE
    scans: Path | None = None
    process: LiveProcess | None = None
    toolchain: bool = False
    include_roots: tuple[Path, ...] = ()
    interpreter: Interpreter | Running[Interpreter] | None = None
    cpu: Cpu | None = None
    thorough: bool = True


def observe(  # noqa: PLR0913 (two of them are rooms above this one, handed in)
    environment: Environment,
    request: ObservationRequest,
    variables: Mapping[str, str],
    tool_prefix: Path,
    *,
    guard: Callable[[Interpreter, Core | None], GuardState],
    interrupted: Callable[[Path], str | None],
) -> Facts:
    """Everything that a decision or a check may look at.

    Args:
        environment: the target.
        request: what to look at.
        variables: the shell's environment variables.
        tool_prefix: `sys.prefix` of fastinstall itself.
        guard: looks at the start-up guard.
        interrupted: tells the unfinished transaction of a prefix.

    Raises:
        UndeterminedError: the target's interpreter does not answer.
    """
    runtime = request.started or (Running(lambda: observe_use(environment, variables)) if request.runtime else None)
    answer = request.interpreter or Running(lambda: observe_interpreter(Path(environment.python)))
    toolchain = (
        Running(lambda: observe_means(request.recipe, variables, request.include_roots)) if request.toolchain else None
    )
    hardware = Running(lambda: _hardware(request, variables))
    from fastinstall.probes.distributions import observe_distributions
    from fastinstall.probes.environment import active_prefixes
    from fastinstall.probes.pins import observe_pins
    from fastinstall.probes.stack import Loader, observe_stack
    from fastinstall.rules.levels import offered_by, platform_of

    settings = _loader_variables(request.process, variables)
    cpu = request.cpu or _cpu(settings["GLIBC_TUNABLES"])
    interpreter = answer.result() if isinstance(answer, Running) else answer
    platform, capabilities = platform_of(cpu, settings["GLIBC_TUNABLES"])
    loader = Loader(
        hwcaps=searched_levels(cpu, interpreter),
        library_path=settings["LD_LIBRARY_PATH"],
        preload=settings["LD_PRELOAD"],
        level=offered_by(cpu),
        platform=platform,
        capabilities=capabilities,
    )
    site_packages = Path(interpreter.site_packages)
    distributions = observe_distributions(site_packages)
    symbols = request.recipe.expect.symbols
    replaced = _replaced(request.recipe)
    stack = observe_stack(interpreter, replaced, symbols, distributions, loader=loader, thorough=request.thorough)
    if request.binaries is Binaries.DESCRIBED:
        stack = _with_making(stack)
    prefix = Path(environment.prefix)
    conda = _conda(environment, request, interpreter, stack, variables)
    return Facts(
        environment=environment,
        active=active_prefixes(variables),
        tool_prefix=tool_prefix,
        writable=all(map(_is_writable, _written(environment, site_packages))),
        frozen=_existing(prefix / "conda-meta" / "frozen"),
        conda=conda,
        cpu=cpu,
        interpreter=interpreter,
        distributions=distributions,
        stack=stack,
        guard=guard(interpreter, stack.core),
        pins=observe_pins(prefix, conda),
        interrupted=interrupted(prefix),
        linkage=_linkage(request, interpreter, stack, loader),
        isa=_isa(request, stack),
        process=request.process,
        runtime=runtime.result() if runtime is not None else None,
        toolchain=toolchain.result() if toolchain is not None else None,
        gpu=_gpu(hardware.result(), site_packages, distributions, conda),
        loading=_loading(distributions, settings["GLIBC_TUNABLES"]),
    )


def observe_use(environment: Environment, variables: Mapping[str, str]) -> Runtime:
    """What happens when PIL is imported and used there, quickly and in a subprocess."""
    from fastinstall.probes.runtime import observe_runtime

    return observe_runtime(Path(environment.python), environment=variables, quick=True)


def observe_means(recipe: Recipe, variables: Mapping[str, str], include_roots: tuple[Path, ...] = ()) -> Toolchain:
    """The means to build a recipe here: compiler, libraries and package manager.

    Args:
        recipe: which flags and libraries to look for.
        variables: the shell's environment variables.
        include_roots: include directories that its libraries may stand in, before the system's.
    """
    from fastinstall.probes.toolchain import observe_toolchain
    from fastinstall.rules.flags import probed_flags

    return observe_toolchain(recipe.libraries, probed_flags(recipe), include_roots=include_roots, variables=variables)


def _hardware(request: ObservationRequest, variables: Mapping[str, str]) -> Gpu:
    """GPUs and their driver; NVML is asked where the whole environment is looked at, and files alone elsewhere."""
    from fastinstall.probes.gpu import observe_hardware

    asked = request.thorough and request.binaries is not Binaries.CORE
    return observe_hardware(nvml=asked, library_path=variables.get("LD_LIBRARY_PATH", ""))


def _gpu(
    hardware: Gpu, site_packages: Path, distributions: tuple[Distribution, ...], conda: Conda | None
) -> Gpu | None:
    from fastinstall.probes.gpu import joined
    from fastinstall.probes.gpu_frameworks import observe_frameworks

    packages = conda.packages if conda is not None else ()
    return joined(hardware, observe_frameworks(site_packages, distributions, packages))


def _loading(distributions: tuple[Distribution, ...], tunables: str) -> LoadingFacts | None:
    from fastinstall.probes.loading import observe_loading

    return observe_loading(distributions, tunables)


def _conda(
    environment: Environment,
    request: ObservationRequest,
    interpreter: Interpreter,
    stack: Stack,
    variables: Mapping[str, str],
) -> Conda | None:
    """What conda knows of the environment; which conda there is, only where something is to be built or changed."""
    if environment.kind is not EnvironmentKind.CONDA:
        return None
    from fastinstall.probes.conda import observe_conda
    from fastinstall.rules.conda_stack import GUARD

    return observe_conda(
        Path(environment.prefix),
        interpreter,
        (*_replaced(request.recipe), GUARD),
        variables,
        tool=request.toolchain,
        thorough=request.thorough,
        distributions=tuple(owner.distribution for owner in stack.owners),
    )


def _cpu(tunables: str) -> Cpu:
    from fastinstall.probes.cpu import observe_cpu

    return observe_cpu(allowed_cores=len(os.sched_getaffinity(0)), tunables=tunables)


def _replaced(recipe: Recipe) -> tuple[str, ...]:
    """Names of the distributions that provide what the recipe provides, its own included."""
    from fastinstall.probes.distributions import normalised

    names = (*recipe.replaces, recipe.source.pypi, recipe.source.chassis)
    return tuple(dict.fromkeys(normalised(name) for name in names))


def _loader_variables(process: LiveProcess | None, variables: Mapping[str, str]) -> dict[str, str]:
    """What the loader would be told by: the shell, or those variables of a process that runs already."""
    if process is None:
        return {name: variables.get(name, "") for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "GLIBC_TUNABLES")}
    return {
        "LD_LIBRARY_PATH": process.library_path,
        "LD_PRELOAD": process.preload,
        "GLIBC_TUNABLES": process.tunables,
    }


def _linkage(request: ObservationRequest, interpreter: Interpreter, stack: Stack, loader: "Loader") -> Linkage | None:
    if request.binaries is Binaries.CORE or stack.directory is None:
        return None
    from fastinstall.probes.linkage import observe_linkage

    return observe_linkage(interpreter, stack, loader)


def _with_making(stack: Stack) -> Stack:
    from fastinstall.binary.core import describe_making

    return stack if stack.core is None else replace(stack, core=describe_making(stack.core))


def _isa(request: ObservationRequest, stack: Stack) -> tuple[IsaScan, ...]:
    if request.binaries is Binaries.CORE:
        return ()
    from fastinstall.probes.isa import observe_isa

    return observe_isa(stack, cache=request.scans, scan=request.binaries is not Binaries.LINKED)


def searched_levels(cpu: Cpu, interpreter: Interpreter) -> tuple[str, ...]:
    """The subdirectories of glibc-hwcaps that the loader searches, the best first; the baseline has none."""
    from fastinstall.binary.loader import usable_hwcaps
    from fastinstall.rules.levels import knows_levels

    return usable_hwcaps(cpu.level) if knows_levels(interpreter.libc, interpreter.libc_version) else ()


def _written(environment: Environment, site_packages: Path) -> Iterator[Path]:
    """The directories that a setup writes to."""
    yield site_packages
    if environment.kind is EnvironmentKind.CONDA:
        yield Path(environment.prefix) / "conda-meta"


def _is_writable(directory: Path) -> bool:
    """Whether this user may write there, or to the nearest ancestor that exists."""
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    return os.access(existing, os.W_OK | os.X_OK)


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None
