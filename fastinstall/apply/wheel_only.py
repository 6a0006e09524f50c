"""The wheel or its conda packages alone: built for a target, put into a directory; the target stays as it is.

The target may be a machine of another architecture: then a Python that this machine can start proves the wheel.
"""

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.apply.carry_out import make_execution_context, request_previous_version
from fastinstall.apply.proven_wheel import ProofContext, fetch_inputs, make_proven_wheel
from fastinstall.conda.channel import publish_packages
from fastinstall.conda.engines.choose import find_microarchitectures
from fastinstall.conda.package import pack_stack
from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import RefusedError, UnprovenError, UsageError
from fastinstall.core.events import Noted, Started
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import EMULATED, Cpu
from fastinstall.model.conda import CondaPackage, CondaStack
from fastinstall.model.conda_packages import plan_guard_package, plan_stack_package
from fastinstall.model.facts import Environment, Facts, Interpreter
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget, kind_of_prefix
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import ObservationRequest, facts_of
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.make import plan_build
from fastinstall.plan.other_machine import describe_cpu
from fastinstall.steps.build import Build
from fastinstall.steps.kinds import get_required_step
from fastinstall.wheelbuild.build_inputs import BuildResult
from fastinstall.wheelbuild.output_directory import lock_directory, require_writable
from fastinstall.wheelbuild.package_index.publish import publish_wheel, require_wheelhouse


@immutable
class Emulation:
    """How a wheel for another machine is proven.

    Attributes:
        pythons: programs of this machine that run a Python of the other: by binfmt_misc, or scripts that start an
            emulator. The one with the ABI of the wheel is taken.
        unproven: whether wheels may go without a proof.
    """

    pythons: tuple[Path, ...] = ()
    unproven: bool = False


NO_EMULATION = Emulation()
"""Nothing that runs a Python of another machine."""


@immutable
class BuildOutcome:
    """What came of a build.

    Attributes:
        result: the wheel, where it lies now, and its hash.
        stack: the conda packages it became, or None if none were requested.
    """

    result: BuildResult
    stack: CondaStack | None = None


@immutable
class BuiltWheel:
    """A wheel in the cache.

    Attributes:
        result: the wheel's file in the cache, and its hash.
        step: how it was made.
        interpreter: the Python that it is for.
    """

    result: BuildResult
    step: Build
    interpreter: Interpreter


def build_wheel_into(
    session: Session, target: NamedTarget, request: Request, directory: Path, emulation: Emulation = NO_EMULATION
) -> BuildOutcome:
    """Build, prove the kernels, and put the wheel into `directory`, with its sum and the pages of an index.

    Raises:
        RefusedError: nothing can prove a wheel for another machine.
        UnprovenError: no version proves; where one was named, that one does not.
        FailedError: it could not be built or written, another wheel of its name lies there, or one that lies there
            is damaged.
        DocumentError: the directory's SHA256SUMS cannot be read.
    """
    require_wheelhouse(directory)
    return publish_built_wheel(session, build_proven_wheel(session, target, request, emulation), directory)


def publish_built_wheel(session: Session, made: BuiltWheel, directory: Path) -> BuildOutcome:
    """Put a wheel into `directory`, with its sum and the pages of an index.

    Raises:
        FailedError: as `publish_wheel` says.
        DocumentError: the directory's SHA256SUMS cannot be read.
    """
    wheel = publish_wheel(session, made.result.wheel, made.result.sha256, directory)
    return BuildOutcome(result=replace(made.result, wheel=wheel))


def require_channel(session: Session, request: Request, directory: Path) -> None:
    """Check before a build that conda packages can be made of its wheel and written; nothing is changed.

    Raises:
        FailedError: the directory is not writable.
        RefusedError: the extra "conda" is not installed.
    """
    require_writable(directory)
    _find_microarchitectures(session, request)


def publish_channel(session: Session, made: BuiltWheel, request: Request, directory: Path) -> BuildOutcome:
    """Make conda packages of a wheel in a channel; what lies there already stays.

    Args:
        session: where variables, caches and directories come from.
        made: the wheel. Of a conda environment, the packages that its Python goes with count.
        request: what was built; without a guard, no guard package is made.
        directory: of the channel, which may hold packages.

    Raises:
        FailedError: they could not be made or written.
    """
    known = _find_microarchitectures(session, request)
    facts = _observe_facts(session, request, made.interpreter)
    session.emit(Started(stage="package", message=f"making conda packages of {made.result.wheel.name}"))

    def pack(number: int, place: Path) -> CondaPackage:
        libraries = recipe_named(session, request.recipe).libraries
        planned = plan_stack_package(made.step, facts, known, number=number, libraries=libraries)
        return pack_stack(made.result.wheel, planned, made.interpreter, place)

    guard = partial(plan_guard_package, prefix=made.interpreter.prefix) if request.guard else None
    with lock_directory(session, directory):
        stack = publish_packages(pack, guard, directory)
    return BuildOutcome(result=made.result, stack=stack)


def _find_microarchitectures(session: Session, request: Request) -> dict[str, tuple[str, ...]]:
    return find_microarchitectures(level.name for level in recipe_named(session, request.recipe).levels)


def _observe_facts(session: Session, request: Request, interpreter: Interpreter) -> Facts:
    prefix = Path(interpreter.prefix)
    environment = Environment(prefix=prefix, kind=kind_of_prefix(prefix), python=interpreter.executable)
    return facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, request.recipe)))


def build_proven_wheel(
    session: Session, target: NamedTarget, request: Request, emulation: Emulation = NO_EMULATION
) -> BuiltWheel:
    """Build the wheel of the newest version that proves; it stays in the cache.

    Args:
        session: where variables, caches and directories come from.
        target: its interpreter, and the machines that the wheel is for.
        request: what is built.
        emulation: how a wheel for another machine is proven.

    Raises:
        RefusedError: nothing can prove a wheel for another machine.
        UnprovenError: no version proves; where one was named, that one does not.
        FailedError: it could not be built.
    """
    while True:
        try:
            return _build_wheel(session, target, request, emulation)
        except UnprovenError as error:
            request = request_previous_version(session, request, error)


def _build_wheel(session: Session, target: NamedTarget, request: Request, emulation: Emulation) -> BuiltWheel:
    plan, interpreter = plan_build(session, target, request)
    proving: Interpreter | None = interpreter
    context = make_execution_context(session, plan)
    if target.machine and interpreter.machine != os.uname().machine:
        context = replace(context, cpu=describe_cpu(context.cpu, architecture_of(interpreter.machine)))
        proving = find_emulated_python(emulation, interpreter)
    for note in (*plan.warnings, *(f"risk {plan_risk.risk}: {plan_risk.summary}" for plan_risk in plan.risks)):
        session.emit(Noted(message=note, warning=True))
    fetched = fetch_inputs(plan.steps, context)
    step = get_required_step(plan.steps, Build)
    if proving is None:
        session.emit(Noted(message="--unproven: nothing is compared with the official wheel", warning=True))
        return BuiltWheel(result=step.make(interpreter, fetched, context), step=step, interpreter=interpreter)
    cpu = context.cpu if proving is interpreter else describe_emulated_cpu(context.cpu)
    proof_context = ProofContext(interpreter=proving, cpu=cpu, reference=step.base_wheel)
    result = make_proven_wheel(step, lambda each: each.make(interpreter, fetched, context), proof_context, context)
    return BuiltWheel(result=result, step=step, interpreter=interpreter)


def find_emulated_python(emulation: Emulation, interpreter: Interpreter) -> Interpreter | None:
    """Return the Python that proves a wheel for a target; None where the wheel goes without a proof.

    Args:
        emulation: what may be started.
        interpreter: the target's, as it is on its machine.

    Raises:
        RefusedError: none is named, and a wheel without a proof was not asked for.
        UsageError: none of those that are named fits.
        UndeterminedError: one of them cannot be started.
    """
    if emulation.unproven:
        return None
    title, minor = architecture_of(interpreter.machine).title, interpreter.minor
    if not emulation.pythons:
        raise RefusedError(
            f"nothing proves a wheel for {title}: no Python {minor} for {title} is named that this machine can start",
            hint=f"name a script that starts it under qemu-{interpreter.machine}: --emulated-python FILE; "
            "or build without a proof: --unproven",
        )
    found = [(path, observe_interpreter(path)) for path in emulation.pythons]
    for path, each in found:
        if (each.machine, each.abi) == (interpreter.machine, interpreter.abi):
            return replace(each, executable=path.absolute())  # what it says of itself starts on its own machine alone
    raise UsageError(
        f"--emulated-python: a Python {minor} for {title} ({interpreter.abi}) proves this wheel, "
        f"not {_list_kinds(each for _, each in found)}",
        hint="name one of that version, or build without a proof: --unproven",
    )


def describe_emulated_cpu(cpu: Cpu) -> Cpu:
    """Return the CPU of a proof that an emulator runs."""
    return replace(cpu, name=f"{EMULATED} {architecture_of(os.uname().machine).title}")


def _list_kinds(found: Iterable[Interpreter]) -> str:
    return " or ".join(dict.fromkeys(f"{each.abi} for {each.machine}" for each in found))
