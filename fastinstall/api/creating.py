"""An environment that does not exist yet: the step that makes it, and what will be true of it."""

from dataclasses import replace
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.api.target import Target, base_python
from fastinstall.errors import RefusedError
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.facts import Facts, Interpreter, Stack
from fastinstall.model.steps import CreateEnvironment
from fastinstall.probes.interpreter import observe_interpreter
from fastinstall.rules.messages import quote


def creation(session: Session, target: Target) -> tuple[CreateEnvironment, Interpreter] | None:
    """The step that makes a new environment, and the interpreter as it will be there; None if none is wished.

    Raises:
        RefusedError: something is there already.
    """
    if target.new is None:
        return None
    prefix = target.new.expanduser().absolute()
    if prefix.exists() and any(prefix.iterdir() if prefix.is_dir() else [prefix]):
        raise RefusedError(
            f"--new-env {prefix}: there is something already", hint=f"work on it instead: --prefix {quote(prefix)}"
        )
    base = observe_interpreter(target.python or base_python(session))
    step = CreateEnvironment(prefix=prefix, python=base.executable, reason="asked for; nothing is there yet")
    return step, relocated(base, prefix)


def predicted(observed: Facts, prefix: Path, interpreter: Interpreter) -> Facts:
    """Facts of the environment as it will be once it is made: nothing is installed there."""
    environment = Environment(prefix=prefix, kind=EnvironmentKind.VENV, python=prefix / "bin" / "python")
    return replace(
        observed,
        environment=environment,
        interpreter=interpreter,
        writable=True,
        frozen=None,
        distributions=(),
        stack=Stack(directory=None),
        guard=replace(observed.guard, installed=False, version="", problems=()),
        interrupted=None,
        runtime=None,
    )


def relocated(base: Interpreter, prefix: Path) -> Interpreter:
    """An interpreter as it will be in a virtual environment made from it."""
    minor = ".".join(base.version.split(".")[:2]) + ("t" if base.free_threaded else "")
    return replace(
        base,
        executable=prefix / "bin" / "python",
        prefix=prefix,
        site_packages=prefix / "lib" / f"python{minor}" / "site-packages",
        externally_managed=None,
        pip_version=None,
    )
