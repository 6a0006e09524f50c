"""Events that work reports while it runs. `cli/` prints them; a program may listen, too."""

from collections.abc import Callable

from fastinstall.core.values import immutable, tagged


@tagged("started")
@immutable
class Started:
    """A stage began.

    Attributes:
        stage: stable name ("download", "compile", "bundle", "stage", "prove", "measure", "swap", "verify").
        message: a sentence for people, in the present tense ("proving NAME").
    """

    stage: str
    message: str


@tagged("progressed")
@immutable
class Progressed:
    """A stage went on: `done` of `total` units (`total` 0 if unknown)."""

    stage: str
    done: int
    total: int


@tagged("finished")
@immutable
class Finished:
    """A stage ended, after `seconds`."""

    stage: str
    message: str
    seconds: float


@tagged("noted")
@immutable
class Noted:
    """Something that the user should read.

    Attributes:
        message: one sentence for people.
        warning: whether it asks for attention.
        changed: whether it tells of a change to the target that holds however the run ends.
        detail: whether only those who ask for more need it.
    """

    message: str
    warning: bool = False
    changed: bool = False
    detail: bool = False


Event = Started | Progressed | Finished | Noted
Emit = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Ignore an event: an `Emit` for callers that do not listen."""
