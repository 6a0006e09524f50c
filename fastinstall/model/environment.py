"""The environment to work on: its place and its kind."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


class EnvironmentKind(StrEnum):
    """The manager of an environment."""

    VENV = "venv"
    CONDA = "conda"
    SYSTEM = "system"


@immutable
class Environment:
    """The target of a run.

    Attributes:
        prefix: `sys.prefix` of the target, absolute.
        kind: venv, conda or system; decides how packages are replaced in it.
        python: its interpreter (not resolved: a venv's symlink is its identity).
    """

    prefix: PurePath
    kind: EnvironmentKind
    python: PurePath
