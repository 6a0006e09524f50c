"""Start what takes longest before the rest of the program is even imported: doctor must feel instant."""

from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Interpreter, Runtime
from fastinstall.probes.concurrently import Running
from fastinstall.probes.interpreter import observe_interpreter


def use_pil(session: Session, environment: Environment) -> Running[Runtime]:
    """Import and use the target's PIL in a subprocess, while this process goes on."""
    from fastinstall.probes.runtime import observe_runtime  # noqa: PLC0415 (a quick examination uses nothing)

    python = Path(environment.python)
    return Running(lambda: observe_runtime(python, environment=session.variables, quick=True))


def ask(environment: Environment) -> Running[Interpreter]:
    """Ask the target's interpreter what it is, while this process goes on."""
    return Running(lambda: observe_interpreter(Path(environment.python)))
