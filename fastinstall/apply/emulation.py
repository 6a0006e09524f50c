"""A Python for machines of another architecture that this machine can start, to prove what is built for them."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import EMULATED, Cpu
from fastinstall.model.facts import Interpreter
from fastinstall.observe.interpreter import observe_interpreter


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
    title = architecture_of(interpreter.machine).title
    minor = ".".join(interpreter.version.split(".")[:2])
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
