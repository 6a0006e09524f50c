"""Describe an environment that does not exist yet: the step that creates it, its interpreter and its facts."""

import os
from dataclasses import replace
from pathlib import Path

from fastinstall.core.architecture import architecture_of
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.refused_writes import advice, reason, refuse_forbidden_place, refuse_noexec
from fastinstall.model.facts import (
    Environment,
    EnvironmentKind,
    Facts,
    ImportSource,
    InstalledStack,
    Interpreter,
)
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import Request
from fastinstall.observe import observation
from fastinstall.observe.environments import (
    USUAL_NAMES,
    NamedTarget,
    base_python,
    is_environment,
    make_absolute,
)
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.session import Session
from fastinstall.setup.decide.other_machine import describe_facts
from fastinstall.setup.decide.saved_plan import select_named_releases
from fastinstall.setup.decide.situation import Situation
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.tools import start_index

_ELSEWHERE = "choose another directory for the environment: --new-env DIR"


def foresee_situation(
    session: Session,
    recipe: Recipe,
    request: Request,
    made: tuple[CreateEnvironment, Interpreter],
    saved: Plan | None = None,
) -> Situation:
    """Return the inputs of a plan for an environment that does not exist yet.

    Args:
        session: variables, directories and receiver of events of this run.
        recipe: the recipe that the request names.
        request: flags and settings of the setup.
        made: the step that creates the environment, and its interpreter as it will be.
        saved: a saved plan; releases newer than the files it names are left out. None to keep all releases of the
            index.
    """
    create, interpreter = made
    index = start_index(session, recipe, request, Path(create.python))
    facts = foresee_facts(session, recipe, made, toolchain=request.wheelhouse is None)
    builder = None
    if interpreter.machine != os.uname().machine:  # for another machine, or a 32-bit Python on this one
        here = observe_interpreter(Path(create.python))
        builder = here if here.machine != interpreter.machine else None
    if builder is not None:
        facts = describe_facts(facts, architecture_of(interpreter.machine))
    releases = select_named_releases(saved, index.releases(recipe, interpreter, builder))
    return Situation(facts=facts, recipe=recipe, request=request, releases=releases, create=create)


def foresee_facts(
    session: Session, recipe: Recipe, made: tuple[CreateEnvironment, Interpreter], *, toolchain: bool = True
) -> Facts:
    """Return the facts of a new environment as it will be after its creation, with nothing installed."""
    create, interpreter = made
    base = Environment(prefix=interpreter.base_prefix, kind=EnvironmentKind.SYSTEM, python=Path(create.python))
    observed = observation.facts_of(session, base, observation.ObservationRequest(recipe=recipe, toolchain=toolchain))
    return replace(
        observed,
        environment=Environment(
            prefix=Path(create.prefix), kind=EnvironmentKind.VENV, python=Path(create.prefix, "bin/python")
        ),
        interpreter=interpreter,
        writable=True,
        obstacles=(),
        frozen=None,
        distributions=(),
        stack=InstalledStack(
            directory=None,
            dependants=tuple(each for each in observed.stack.dependants if each.constraints is not None),
        ),
        guard=replace(observed.guard, installed=False, version="", problems=()),
        interrupted=None,
        runtime=None,
    )


def plan_creation(target: NamedTarget) -> tuple[CreateEnvironment, Interpreter] | None:
    """Return the step that creates an environment, and its future interpreter; None if no new one is requested.

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
