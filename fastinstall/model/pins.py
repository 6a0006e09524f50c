"""Pins, and what the start-up guard has told: values that probes, plans and `guard status` share."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


class PinKind(StrEnum):
    """A pin that the environment's own configuration holds; that of a project bears the name of the project's tool."""

    PIP = "pip"
    CONDA = "conda"


@immutable
class PinState:
    """A pin of ours, as it lies there.

    Attributes:
        kind: whose configuration it is in: a `PinKind`, or the name of a project's tool ("uv").
        file: that bears it, absolute.
        requirement: what it holds to ("pillow==13.0.0+simd.v2.v3", "pillow * simd_*").
        problems: what is wrong with it (the wheel is gone, the line was altered, another build is in place).
    """

    kind: str
    file: PurePath
    requirement: str
    problems: tuple[str, ...] = ()


@immutable
class Project:
    """A directory whose manifest a tool makes environments of.

    Attributes:
        directory: absolute.
        manager: the name of the tool ("uv").
        manifest: the file that people write ("pyproject.toml", "pixi.toml"), absolute.
        lock: the file that the tool writes, absolute; None if there is none yet.
        sync: the command by which the tool makes the environment ("uv sync").
    """

    directory: PurePath
    manager: str
    manifest: PurePath
    lock: PurePath | None = None
    sync: str = ""


@immutable
class GuardEvent:
    """Something that the start-up guard has told.

    Attributes:
        at: when it was told, ISO 8601, UTC.
        change: what became of the stack ("was replaced with Pillow 13.0.0").
        tool: who did it ("pip", "uv"); empty if nothing told.
        stack: what was in place before ("12.1.1+simd.v3", as the guard knows it).
        found: the version that is there now; empty if there is none.
    """

    at: str
    change: str
    tool: str = ""
    stack: str = ""
    found: str = ""


@immutable
class GuardCost:
    """What the start-up guard costs at each start of an interpreter, measured there.

    Attributes:
        median_us: microseconds, the median of the starts.
        start_ms: milliseconds that a whole start takes without it, the median.
        starts: how many were measured.
    """

    median_us: float
    start_ms: float
    starts: int
