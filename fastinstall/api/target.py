"""Which environment is meant."""

import os
import sys
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.model.environment import Environment
from fastinstall.model.immutable import immutable
from fastinstall.probes.environment import active_prefixes, locate


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


def is_active_elsewhere(session: Session) -> bool:
    """Whether the shell has activated an environment that is not the tool's own.

    Where it has not, what is only built is for `base_python`.
    """
    own = os.path.realpath(session.tool_prefix)
    return any(os.path.realpath(prefix) != own for prefix in active_prefixes(session.variables).values())


def base_python(session: Session) -> Path:
    """The interpreter that the tool's own environment was made from."""
    return Path(getattr(sys, "_base_executable", "") or session.tool_python)
