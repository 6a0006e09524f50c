"""Observe a target completely: run every probe.

Probes that wait for a subprocess run in parallel with the others. Probes that read files are imported only after the
subprocesses have started, because importing them takes as long as running them, and doctor must be quick.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path

from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.errors import DocumentError
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu
from fastinstall.elf.description import IsaScan
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.journal.snapshot import find_unfinished_transaction, read_environment_history
from fastinstall.model.facts import Environment, EnvironmentKind, Facts, Interpreter, Runtime
from fastinstall.model.machine import Toolchain
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.observe.guard_files import GUARD_ENTRIES, observe_guard
from fastinstall.observe.installed_pins import observe_pins
from fastinstall.observe.interpreter import ask_interpreter, use_pil
from fastinstall.observe.recipes import read_recorded_recipe
from fastinstall.observe.session import Session


class Binaries(Enum):
    """How deeply to examine PIL's extension modules."""

    CORE = "the core alone"
    LINKED = "what a process would load, and what is known already of the code"
    DECODED = "what a process would load, and the code, instruction by instruction"
    DESCRIBED = "all of that, and what the core tells about its making"


@immutable
class ObservationRequest:
    """A request that says which facts to observe.

    Attributes:
        recipe: the recipe, which names the distributions, symbols, flags and libraries to look for.
        runtime: whether to import and use PIL, in a subprocess that runs the target's interpreter.
        started: the subprocess that imports and uses PIL, if it is already running.
        binaries: how deeply to examine PIL's extension modules.
        toolchain: whether to look for a compiler, libraries and a package manager.
        interpreter: the facts about the target's Python, or the running subprocess that gets them; None to start that
            subprocess.
        cpu: the processor, if it was observed already.
        cpuid: whether to execute the CPUID instruction too, which takes 60 ms.
        thorough: whether to read all of PIL's files; if False, files whose size and times have not changed count as
            unaltered.
    """

    recipe: Recipe
    runtime: bool = False
    started: RunningProbe[Runtime] | None = None
    binaries: Binaries = Binaries.CORE
    toolchain: bool = False
    interpreter: Interpreter | RunningProbe[Interpreter] | None = None
    cpu: Cpu | None = None
    cpuid: bool = False
    thorough: bool = True


def facts_of(session: Session, environment: Environment, request: ObservationRequest) -> Facts:
    """Return all facts that decisions and checks may use; the results of decoding machine code are cached.

    Raises:
        UndeterminedError: the target's interpreter does not answer.
    """
    variables, thorough = session.variables, request.thorough
    runtime = request.started or (use_pil(session, environment) if request.runtime else None)
    answer = request.interpreter or ask_interpreter(session, environment)
    toolchain = (
        RunningProbe(partial(observe_recipe_toolchain, request.recipe, variables)) if request.toolchain else None
    )
    from fastinstall.observe.gpu import join_gpu_facts, observe_hardware

    nvml = thorough and request.binaries is not Binaries.CORE
    library_path = variables.get("LD_LIBRARY_PATH", "")
    hardware = RunningProbe(partial(observe_hardware, nvml=nvml, library_path=library_path))
    from fastinstall.elf.loader.process_settings import settings_for
    from fastinstall.observe.cpu import execute_cpuid, observe_cpu, observe_loading
    from fastinstall.observe.environments import active_prefixes
    from fastinstall.observe.obstacles import find_obstacles
    from fastinstall.observe.pip_settings import list_constraint_files
    from fastinstall.observe.stack import observe_constraints, observe_distributions, observe_frameworks, observe_stack

    tunables = variables.get("GLIBC_TUNABLES", "")
    cpu = request.cpu or observe_cpu(allowed_cores=len(os.sched_getaffinity(0)), tunables=tunables)
    if request.cpuid:
        cpu = replace(cpu, executed=execute_cpuid(cpu.architecture))
    interpreter = answer.result() if isinstance(answer, RunningProbe) else answer
    program, hwcaps = Path(os.path.realpath(interpreter.executable)), list_searched_levels(cpu, interpreter)
    settings = settings_for(program, cpu, variables, hwcaps=hwcaps, page_size=os.sysconf("SC_PAGE_SIZE"))
    prefix, site_packages = environment.prefix, interpreter.site_packages
    distributions = observe_distributions(site_packages)
    names, symbols = request.recipe.replaces, request.recipe.expect.symbols
    stack = observe_stack(interpreter, names, symbols, distributions, settings=settings, thorough=thorough)
    constraints = observe_constraints(interpreter, names, list_constraint_files(prefix, variables))
    stack = replace(stack, dependants=(*stack.dependants, *constraints))
    linkage, isa = None, tuple[IsaScan, ...]()
    if request.binaries is not Binaries.CORE:
        from fastinstall.observe.binaries import observe_isa, observe_linkage

        if stack.directory is not None:
            linkage = observe_linkage(stack.directory, interpreter.extension_suffix, settings)
        scan = request.binaries is not Binaries.LINKED
        isa = observe_isa(stack, cache=session.directories.cache / SCANS, scan=scan)
    if request.binaries is Binaries.DESCRIBED and stack.core is not None:
        from fastinstall.elf.imaging_core import describe_making

        stack = replace(stack, core=describe_making(stack.core))
    conda = None
    if environment.kind is EnvironmentKind.CONDA:
        from fastinstall.model.conda_packages import GUARD
        from fastinstall.observe.conda.prefix import observe_conda

        conda = observe_conda(
            prefix,
            interpreter,
            (*names, GUARD),
            variables,
            thorough=thorough,
            distributions=tuple(owner.distribution for owner in stack.owners),
        )
    frameworks = observe_frameworks(site_packages, distributions, conda.packages if conda is not None else ())
    history = read_environment_history(prefix, sized=thorough)
    conda_meta = prefix / "conda-meta"
    written = (site_packages, conda_meta) if environment.kind is EnvironmentKind.CONDA else (site_packages,)
    frozen = conda_meta / "frozen"
    directory = (stack.directory.name,) if stack.directory is not None else ()
    replaced = (*directory, *(entry for owner in stack.owners for entry in owner.entries), *GUARD_ENTRIES)
    return Facts(
        environment=environment,
        active=active_prefixes(variables),
        tool_prefix=session.tool_prefix,
        writable=all(map(_is_writable, written)),
        obstacles=find_obstacles(prefix, site_packages, replaced),
        frozen=frozen if frozen.exists() else None,
        conda=conda,
        cpu=cpu,
        interpreter=interpreter,
        distributions=distributions,
        stack=stack,
        guard=observe_guard(site_packages, interpreter.version, stack.core),
        pins=observe_pins(prefix, conda),
        interrupted=find_unfinished_transaction(history),
        history=history,
        linkage=linkage,
        isa=isa,
        runtime=runtime.result() if runtime is not None else None,
        toolchain=toolchain.result() if toolchain is not None else None,
        gpu=join_gpu_facts(hardware.result(), frameworks),
        loading=observe_loading(distributions, tunables),
    )


def observe_recipe_toolchain(recipe: Recipe, variables: Mapping[str, str]) -> Toolchain:
    """Return this machine's compiler and package manager, and the libraries on it that a recipe may use."""
    from fastinstall.compilers.flags import list_probed_flags
    from fastinstall.observe.toolchain import observe_toolchain

    return observe_toolchain(recipe.libraries, list_probed_flags(recipe, os.uname().machine), variables=variables)


def list_searched_levels(cpu: Cpu, interpreter: Interpreter) -> tuple[str, ...]:
    """Return the subdirectories of glibc-hwcaps that the loader searches on this CPU, the highest level first."""
    from fastinstall.elf.cpu import knows_levels
    from fastinstall.elf.loader.process_settings import usable_hwcaps

    return usable_hwcaps(cpu.level) if knows_levels(interpreter.libc, interpreter.libc_version) else ()


def _is_writable(directory: Path) -> bool:
    """Return whether this user may write to a directory or, if it does not exist, to its nearest existing ancestor."""
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    return os.access(existing, os.W_OK | os.X_OK)


SCANS = "isa"
"""The directory in the cache for the results of `scan_isa`."""


def recorded_facts(session: Session, environment: Environment, receipt: Receipt | None) -> Facts:
    """Return all facts about an environment, observed with the recipe that its receipt names.

    Raises:
        UndeterminedError: the target's interpreter does not answer.
        DocumentError: the receipt names a missing recipe, or the recipe is malformed.
    """
    recipe = read_recorded_recipe(session, environment, receipt)
    return facts_of(session, environment, ObservationRequest(recipe=recipe))


def read_earlier_receipt(environment: Environment) -> Receipt | None:
    """Return the receipt of an environment's last setup, or None if it is missing or cannot be read.

    `Facts.history` reports an unreadable receipt.
    """
    try:
        return read_receipt(environment.prefix)
    except DocumentError:
        return None


def observe_committed(seen: Facts) -> Facts:
    """Return facts that were observed during a transaction, with the history and the pins read again after its end."""
    prefix = seen.environment.prefix
    history = read_environment_history(prefix, sized=True)
    return replace(
        seen, history=history, interrupted=find_unfinished_transaction(history), pins=observe_pins(prefix, seen.conda)
    )
