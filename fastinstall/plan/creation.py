"""Plan a new environment: the step that makes it, and its interpreter and facts as they will be."""

import os
from dataclasses import replace
from pathlib import Path

from fastinstall.core.errors import RefusedError
from fastinstall.core.home import expand_home
from fastinstall.core.messages import quote
from fastinstall.core.refused_writes import advice, reason
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.facts import Facts, InstalledStack, Interpreter
from fastinstall.model.recipe import Recipe
from fastinstall.observe import observation
from fastinstall.observe.active_environment import USUAL_NAMES, NamedTarget, base_python, is_environment
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.session import Session
from fastinstall.steps.create_environment import CreateEnvironment


def foresee_facts(
    session: Session, recipe: Recipe, made: tuple[CreateEnvironment, Interpreter], *, toolchain: bool = True
) -> Facts:
    """Return the facts of the environment as it will be once it is made: nothing is installed there."""
    create, interpreter = made
    base = Environment(prefix=interpreter.base_prefix, kind=EnvironmentKind.SYSTEM, python=create.python)
    observed = observation.facts_of(session, base, observation.ObservationRequest(recipe=recipe, toolchain=toolchain))
    return replace(
        observed,
        environment=Environment(
            prefix=create.prefix, kind=EnvironmentKind.VENV, python=create.prefix / "bin" / "python"
        ),
        interpreter=interpreter,
        writable=True,
        frozen=None,
        distributions=(),
        stack=InstalledStack(directory=None),
        guard=replace(observed.guard, installed=False, version="", problems=()),
        interrupted=None,
        runtime=None,
    )


def plan_creation(session: Session, target: NamedTarget) -> tuple[CreateEnvironment, Interpreter] | None:
    """Return the step that makes a new environment, and its interpreter as it will be; None if none is requested.

    Raises:
        RefusedError: something is there already.
    """
    if target.new is None:
        return None
    prefix = expand_home(target.new).absolute()
    _refuse_occupied(prefix)
    base = observe_interpreter(target.python or base_python(session))
    step = CreateEnvironment(prefix=prefix, python=base.executable, reason="requested by --new-env")
    return step, relocate_interpreter(base, prefix)


def _refuse_occupied(prefix: Path) -> None:
    """Refuse a place for an environment where something is already, or where nobody can tell."""
    try:
        content = os.listdir(prefix)  # noqa: PTH208 (its errors name the path)
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise RefusedError(
            f"{reason(error, prefix)}: no environment can be made there", hint="name another directory: --new-env DIR"
        ) from None
    except OSError as error:
        raise RefusedError(
            f"{reason(error, prefix)}: no environment can be made there", hint=advice(error, prefix)
        ) from error
    if is_environment(prefix):
        raise RefusedError(f"--new-env {prefix}: already exists", hint=f"use it instead: --prefix {quote(prefix)}")
    if content:
        raise RefusedError(
            f"--new-env {prefix}: already exists, and is not a Python environment",
            hint=f"name a directory that does not exist yet: --new-env {quote(prefix / USUAL_NAMES[0])}",
        )


def relocate_interpreter(base: Interpreter, prefix: Path) -> Interpreter:
    """Return an interpreter as it will be in a virtual environment made from it."""
    minor = ".".join(base.version.split(".")[:2]) + ("t" if base.free_threaded else "")
    return replace(
        base,
        executable=prefix / "bin" / "python",
        prefix=prefix,
        site_packages=prefix / "lib" / f"python{minor}" / "site-packages",
        externally_managed=None,
        pip_version=None,
    )
