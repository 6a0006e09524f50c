"""Make the wheel or its conda packages alone, in a directory; the target stays as it is.

The target may be a machine of another architecture: then a Python that this machine can start proves the wheel.
"""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.conda.channel import SUBDIRS, publish_packages
from fastinstall.conda.extra import find_microarchitectures
from fastinstall.conda.package import pack_stack
from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import RefusedError, UnprovenError, UsageError
from fastinstall.core.events import Noted, Started
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import EMULATED
from fastinstall.model.conda import CondaPackage, CondaStack
from fastinstall.model.conda_packages import plan_guard_package, plan_stack_package
from fastinstall.model.facts import Environment, Interpreter
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget, kind_of_prefix
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import ObservationRequest, facts_of
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.decide.other_machine import describe_cpu
from fastinstall.setup.look import look_for_wheel, request_previous_version
from fastinstall.setup.plan import WheelPlan
from fastinstall.setup.proven_wheel import ProofContext, fetch_inputs, make_proven_wheel
from fastinstall.setup.tools import open_run
from fastinstall.wheelbuild.build_inputs import BuildResult
from fastinstall.wheelbuild.output_directory import lock_directory, refuse_links, require_writable
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


def build_wheel_into(
    session: Session, target: NamedTarget, request: Request, directory: Path, emulation: Emulation = NO_EMULATION
) -> BuildResult:
    """Build, prove the kernels, and put the wheel into `directory`, with its sum and the pages of an index.

    Raises:
        RefusedError: nothing can prove a wheel for another machine.
        UnprovenError: no version proves; where one was named, that one does not.
        FailedError: it could not be built or written, another wheel of its name lies there, or one that lies there
            is damaged.
        DocumentError: the directory's SHA256SUMS cannot be read.
    """
    require_wheelhouse(directory)
    _, built = build_proven_wheel(session, target, request, emulation)
    return replace(built, wheel=publish_wheel(session, built.wheel, built.sha256, directory))


def require_channel(session: Session, request: Request, directory: Path) -> None:
    """Check before a build that conda packages can be made of its wheel and written; nothing is changed.

    Raises:
        FailedError: the directory is not writable.
        RefusedError: the extra "conda" is not installed, or a place for packages is a link.
    """
    require_writable(directory)
    refuse_links(directory, SUBDIRS)
    find_microarchitectures(level.name for level in recipe_named(session, request.recipe).levels)


def publish_channel(session: Session, plan: WheelPlan, wheel: Path, directory: Path) -> CondaStack:
    """Make conda packages of a wheel in a channel; what is there already stays.

    Args:
        session: where variables, caches and directories come from.
        plan: how the wheel was made, and for which Python. Of a conda environment, the packages that its Python goes
            with count. Without a guard in its request, no guard package is made.
        wheel: the wheel.
        directory: of the channel, which may hold packages.

    Raises:
        FailedError: they could not be made or written.
    """
    recipe, interpreter = recipe_named(session, plan.request.recipe), plan.interpreter
    prefix = Path(interpreter.prefix)
    known = find_microarchitectures(level.name for level in recipe.levels)
    environment = Environment(prefix=prefix, kind=kind_of_prefix(prefix), python=interpreter.executable)
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe))
    session.emit(Started(stage="package", message=f"making conda packages of {wheel.name}"))

    def pack(number: int, place: Path) -> CondaPackage:
        planned = plan_stack_package(plan.build, facts, known, number=number, libraries=recipe.libraries)
        return pack_stack(wheel, planned, interpreter, place)

    guard = partial(plan_guard_package, prefix=interpreter.prefix) if plan.request.guard else None
    with lock_directory(session, directory):
        return publish_packages(pack, guard, directory)


def build_proven_wheel(
    session: Session, target: NamedTarget, request: Request, emulation: Emulation = NO_EMULATION
) -> tuple[WheelPlan, BuildResult]:
    """Build the wheel of the newest version that proves; it stays in the cache.

    Args:
        session: where variables, caches and directories come from.
        target: its interpreter, and the machines that the wheel is for.
        request: what is built.
        emulation: how a wheel for another machine is proven.

    Returns:
        How it was made, and the wheel.

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


def _build_wheel(
    session: Session, target: NamedTarget, request: Request, emulation: Emulation
) -> tuple[WheelPlan, BuildResult]:
    plan = look_for_wheel(session, target, request)
    interpreter, step = plan.interpreter, plan.build
    proving: Interpreter | None = interpreter
    run = open_run(session, plan.request, Path(interpreter.executable))
    if target.machine and interpreter.machine != os.uname().machine:
        run = replace(run, cpu=describe_cpu(run.cpu, architecture_of(interpreter.machine)))
        proving = find_emulated_python(emulation, interpreter)
    for note in (*plan.warnings, *(f"risk {plan_risk.risk}: {plan_risk.summary}" for plan_risk in plan.risks)):
        session.emit(Noted(message=note, warning=True))
    fetched = fetch_inputs(plan.prepare, run)
    if proving is None:
        session.emit(Noted(message="--unproven: nothing is compared with the official wheel", warning=True))
        return plan, step.make(interpreter, fetched, run)
    cpu = run.cpu
    if proving is not interpreter:
        cpu = replace(cpu, name=f"{EMULATED} {architecture_of(os.uname().machine).title}")
    proof_context = ProofContext(interpreter=proving, cpu=cpu, reference=step.base_wheel)
    return plan, make_proven_wheel(step, lambda each: each.make(interpreter, fetched, run), proof_context, run)


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
    kinds = dict.fromkeys(f"{each.abi} for {each.machine}" for _, each in found)
    raise UsageError(
        f"--emulated-python: a Python {minor} for {title} ({interpreter.abi}) proves this wheel, "
        f"not {' or '.join(kinds)}",
        hint="name one of that version, or build without a proof: --unproven",
    )
