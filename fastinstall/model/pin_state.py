"""Pins that keep solvers from replacing the stack, and the projects that make environments."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


class PinKind(StrEnum):
    """A pin in the environment's own configuration; a project's pin is named after the project's tool."""

    PIP = "pip"
    CONDA = "conda"


@immutable
class PinState:
    """One of our pins.

    Attributes:
        kind: the configuration that contains it: a `PinKind`, or the name of a project's tool ("uv").
        file: that contains it, absolute.
        requirement: the pinned requirement ("pillow==13.0.0+simd.v2.v3", "pillow * simd_*").
        problems: its problems (the wheel is missing, the line was altered, another build is installed).
    """

    kind: str
    file: PurePath
    requirement: str
    problems: tuple[str, ...] = ()


@immutable
class Project:
    """A directory with a manifest from which a tool creates environments.

    Attributes:
        directory: where the manifest is, absolute.
        manager: the name of the tool ("uv").
        manifest: the file that people write ("pyproject.toml", "pixi.toml"), absolute.
        lock: the file that the tool writes, absolute; None if there is none yet.
        sync: the command that creates the environment with the tool ("uv sync").
    """

    directory: PurePath
    manager: str
    manifest: PurePath
    lock: PurePath | None = None
    sync: str = ""
