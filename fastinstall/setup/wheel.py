"""Make a wheel or its conda packages in a directory; the target is not changed.

If the target is a machine of another architecture, an emulated Python runs the proof.
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
from fastinstall.setup.foresee import describe_cpu
from fastinstall.setup.look import look_for_wheel, open_run, request_previous_version
from fastinstall.setup.plan import WheelPlan
from fastinstall.setup.proven_wheel import ProofContext, fetch_inputs, make_proven_wheel
from fastinstall.wheelbuild.build_inputs import BuildResult
from fastinstall.wheelbuild.output_directory import lock_directory, refuse_links, require_writable
from fastinstall.wheelbuild.package_index import publish_wheel, require_wheelhouse


@immutable
class Emulation:
    """How to prove a wheel for another architecture.

    Attributes:
        pythons: commands that run a Python of that architecture on this machine: binaries that binfmt_misc starts, or
            scripts that start an emulator. The one with the wheel's ABI is used.
        unproven: whether wheels are built without a proof.
    """

    pythons: tuple[Path, ...] = ()
    unproven: bool = False


NO_EMULATION = Emulation()
"""No emulated Python is given, and a wheel must be proven."""


def build_wheel_into(
    session: Session, target: NamedTarget, request: Request, directory: Path, emulation: Emulation = NO_EMULATION
) -> BuildResult:
    """Build and prove a wheel, and publish it in a directory, with its checksum and the pages of a package index.

    Raises:
        RefusedError: the wheel is for another architecture, and no Python is given that can prove it.
        UnprovenError: no version passes the proof, or the requested version does not.
        FailedError: the wheel could not be built or written, the directory has a different wheel of the same name, or a
            wheel in it is damaged.
        DocumentError: the directory's SHA256SUMS cannot be read.
    """
    require_wheelhouse(directory)
    _, built = build_proven_wheel(session, target, request, emulation)
    return replace(built, wheel=publish_wheel(session, built.wheel, built.sha256, directory))


def require_channel(session: Session, request: Request, directory: Path) -> None:
    """Check before a build that conda packages of the wheel can be made and written; change nothing.

    Raises:
        FailedError: the directory is not writable.
        RefusedError: the extra "conda" is not installed, or a subdirectory for packages is a link.
    """
    require_writable(directory)
    refuse_links(directory, SUBDIRS)
    find_microarchitectures(level.name for level in recipe_named(session, request.recipe).levels)


def publish_channel(session: Session, plan: WheelPlan, wheel: Path, directory: Path) -> CondaStack:
    """Add the conda packages of a wheel to a channel; existing packages stay.

    Args:
        session: variables, directories and receiver of events of this run.
        plan: how the wheel was made, and for which Python. If this is the Python of a conda environment, the packages
            of that environment decide the dependencies. A guard package is made only if the plan's request has a guard.
        wheel: path of the wheel.
        directory: directory of the channel.

    Raises:
        FailedError: the packages could not be made or written.
    """
    recipe, interpreter = recipe_named(session, plan.request.recipe), plan.interpreter
    prefix = interpreter.prefix
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
    """Build the wheel of the newest version that passes the proof, and leave it in the cache.

    Args:
        session: variables, directories and receiver of events of this run.
        target: names the interpreter, and the architecture that the wheel is for.
        request: recipe, version, levels and libraries.
        emulation: how to prove a wheel for another architecture.

    Returns:
        The plan of the wheel, and the wheel.

    Raises:
        RefusedError: the wheel is for another architecture, and no Python is given that can prove it.
        UnprovenError: no version passes the proof, or the requested version does not.
        FailedError: the wheel could not be built.
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
    run = open_run(session, plan.request, interpreter.executable)
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
    """Return the emulated Python that proves a wheel; None if the wheel is built without a proof.

    Args:
        emulation: the Pythons to choose from.
        interpreter: the target's Python, as it is on its own machine.

    Raises:
        RefusedError: no Python is given, although the wheel must be proven.
        UsageError: none of the Pythons has the architecture and ABI of the target.
        UndeterminedError: one of the Pythons cannot be started.
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
            # An emulated Python's own sys.executable cannot be started on this machine.
            return replace(each, executable=path.absolute())
    kinds = dict.fromkeys(f"{each.abi} for {each.machine}" for _, each in found)
    raise UsageError(
        f"--emulated-python: a Python {minor} for {title} ({interpreter.abi}) proves this wheel, "
        f"not {' or '.join(kinds)}",
        hint="name one of that version, or build without a proof: --unproven",
    )
