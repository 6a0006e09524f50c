"""The start-up guard and the pins, which stop tools from replacing the stack, and the projects that contain pins."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable

OTHER_CORE = " describes "
"""Text that marks one of the guard's problems: its record describes a core that is not the installed core."""


@immutable
class GuardEvent:
    """A report of the start-up guard.

    Attributes:
        at: time of the report, ISO 8601, UTC.
        change: what happened to the stack ("was replaced with Pillow 13.0.0").
        tool: the tool that changed it ("pip", "uv"); empty if unknown.
        stack: the previous version, according to the guard ("12.1.1+simd.v3").
        found: the version that is installed now; empty if there is none.
    """

    at: str
    change: str
    tool: str = ""
    stack: str = ""
    found: str = ""


@immutable
class GuardState:
    """The start-up guard in site-packages.

    Attributes:
        installed: whether any of its files exists.
        version: version of the installed guard; empty if unknown.
        problems: its problems (missing, altered, not compiled, outdated, state differs).
    """

    installed: bool
    version: str = ""
    problems: tuple[str, ...] = ()

    @property
    def own_problems(self) -> tuple[str, ...]:
        """The problems except a replaced core, about which the guard itself warns."""
        return tuple(problem for problem in self.problems if OTHER_CORE not in problem)


class PinKind(StrEnum):
    """Kinds of pins in the environment's own configuration; the kind of a project's pin is the name of its tool."""

    PIP = "pip"
    CONDA = "conda"


@immutable
class PinState:
    """A pin that fastinstall added, as found in a configuration.

    Attributes:
        kind: the configuration that contains it: a `PinKind`, or the name of a project's tool ("uv").
        file: the file that contains the pin, absolute.
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
        directory: the directory, absolute.
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
