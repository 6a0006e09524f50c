"""The effects of a run on an environment, reported in addition to its result."""

from fastinstall.core.values import immutable


@immutable
class OutdatedProgram:
    """A running process that still uses files of the previous Pillow.

    Attributes:
        pid: its process ID.
        name: name of the process, as the kernel shows it: at most 15 characters.
    """

    pid: int
    name: str


@immutable
class Effect:
    """The effect of a run.

    Attributes:
        changed: whether the environment was changed.
        restart: programs that still use files of the previous Pillow, and should be restarted.
    """

    changed: bool
    restart: tuple[OutdatedProgram, ...] = ()


@immutable
class Done:
    """The changes that a command made, one sentence each."""

    done: tuple[str, ...]


@immutable
class Acceptance:
    """The change that `guard accept` accepted, as a sentence; empty if there was none."""

    accepted: str
