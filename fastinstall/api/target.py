"""Which environment is meant."""

import sys
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.model.environment import Environment
from fastinstall.model.immutable import immutable
from fastinstall.probes.environment import locate


@immutable
class Target:
    """What the user named.

    Attributes:
        prefix: an environment's directory.
        python: an interpreter.
        new: a directory to make a virtual environment in, by `python` or the tool's own base interpreter.
    """

    prefix: Path | None = None
    python: Path | None = None
    new: Path | None = None


def find(session: Session, target: Target) -> Environment:
    """The existing environment that is meant.

    Raises:
        RefusedError: none, or two that disagree; the tool's own.
        UndeterminedError: it is not an environment.
    """
    return locate(target.prefix, target.python, session.variables, session.tool_prefix)


def base_python(session: Session) -> Path:
    """The interpreter that the tool's own environment was made from."""
    return Path(getattr(sys, "_base_executable", "") or session.tool_python)
