"""What a run did to an environment, beside its result."""

from fastinstall.core.values import immutable


@immutable
class OutdatedProgram:
    """A process.

    Attributes:
        pid: its number.
        name: as the kernel shows it, at most 15 characters.
    """

    pid: int
    name: str


@immutable
class Effect:
    """What a run did.

    Attributes:
        changed: whether anything was changed.
        restart: programs that go on with files of the Pillow that was in place before, and need a restart.
    """

    changed: bool
    restart: tuple[OutdatedProgram, ...] = ()


@immutable
class Done:
    """What a verb did, in sentences."""

    done: tuple[str, ...]


@immutable
class Acceptance:
    """What `guard accept` accepted, in a sentence; empty if there was nothing."""

    accepted: str
