"""The environment that is worked on: where it is and of what kind."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.model.immutable import immutable


class EnvironmentKind(StrEnum):
    """Who made and manages an environment."""

    VENV = "venv"
    CONDA = "conda"
    SYSTEM = "system"


@immutable
class Environment:
    """The target of a run.

    Attributes:
        prefix: `sys.prefix` of the target, absolute.
        kind: who manages it.
        python: the interpreter to run inside it (not resolved: a venv's symlink is its identity).
    """

    prefix: PurePath
    kind: EnvironmentKind
    python: PurePath
