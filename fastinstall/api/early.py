"""Start what takes longest before the rest of the program is even imported: doctor must feel instant."""

from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.model.environment import Environment
from fastinstall.model.facts import Runtime
from fastinstall.probes.concurrently import Running
from fastinstall.probes.runtime import observe_runtime


def use_pil(session: Session, environment: Environment) -> Running[Runtime]:
    """Import and use the target's PIL in a subprocess, while this process goes on."""
    python = Path(environment.python)
    return Running(lambda: observe_runtime(python, environment=session.variables, quick=True))
