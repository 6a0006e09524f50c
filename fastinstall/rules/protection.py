"""Which environments are never changed, and why. Pure."""

from fastinstall.errors import FastinstallError, RefusedError
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.facts import Facts
from fastinstall.rules.messages import quote


def refuse_if_protected(facts: Facts) -> None:
    """Raise where the target must not be changed, whatever is wished.

    Raises:
        RefusedError: not CPython, a system Python (PEP 668), a frozen or conda environment, the tool's
            own environment, one that this user may not write to, or one with an unfinished transaction.
    """
    for reason in (_interpreter(facts), _ownership(facts), _kind(facts), _permission(facts), _unfinished(facts)):
        if reason is not None:
            raise reason


def _interpreter(facts: Facts) -> FastinstallError | None:
    if facts.interpreter.implementation == "cpython":
        return None
    return RefusedError(
        f"{facts.interpreter.executable} is {facts.interpreter.implementation}: "
        "the SIMD core is built for CPython only",
        hint="keep stock Pillow there, or use a CPython environment: fastinstall setup --new-env DIR --python python3",
    )


def _ownership(facts: Facts) -> FastinstallError | None:
    marker = facts.interpreter.externally_managed
    if marker is not None:
        return RefusedError(
            f"{facts.environment.prefix} belongs to the operating system ({marker}, PEP 668)",
            hint=f"make an environment of your own: fastinstall setup --new-env ./fast-env "
            f"--python {quote(facts.interpreter.executable)}",
        )
    if facts.frozen is not None:
        return RefusedError(
            f"{facts.environment.prefix} is frozen ({facts.frozen})",
            hint="clone it and work on the clone, or ask whoever froze it",
        )
    if facts.environment.prefix == facts.tool_prefix:
        return RefusedError(
            f"{facts.environment.prefix} is fastinstall's own environment",
            hint="name the environment to work on: --prefix DIR",
        )
    return None


def _kind(facts: Facts) -> FastinstallError | None:
    if facts.environment.kind is EnvironmentKind.CONDA:
        return RefusedError(
            f"{facts.environment.prefix} is a conda environment: recognised, "
            "but fastinstall does not change these yet, as conda would swap the result back without a word",
            hint="use a virtual environment: fastinstall setup --new-env ./fast-env",
        )
    if facts.environment.kind is EnvironmentKind.SYSTEM:
        return RefusedError(
            f"{facts.environment.prefix} is not a virtual environment: a global interpreter is never changed",
            hint=f"fastinstall setup --new-env ./fast-env --python {quote(facts.interpreter.executable)}",
        )
    return None


def _permission(facts: Facts) -> FastinstallError | None:
    if facts.writable:
        return None
    return RefusedError(
        f"{facts.interpreter.site_packages} is not writable for this user",
        hint="run as the owner of the environment, or make one of your own: fastinstall setup --new-env ./fast-env",
    )


def _unfinished(facts: Facts) -> FastinstallError | None:
    if facts.interrupted is None:
        return None
    return RefusedError(
        f"{facts.environment.prefix}: transaction {facts.interrupted} was interrupted",
        hint=f"undo it: fastinstall rollback --yes --prefix {quote(facts.environment.prefix)}",
    )
