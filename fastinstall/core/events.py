"""Events that report a run's progress. `cli/` prints them; a program that uses fastinstall may handle them instead."""

from collections.abc import Callable

from fastinstall.core.values import immutable, tagged


@tagged("started")
@immutable
class Started:
    """A stage began.

    Attributes:
        stage: the stage's name, which never changes ("download", "compile", "bundle", "stage", "prove", "measure",
            "swap", "verify").
        message: a sentence for people, in the present tense ("proving NAME").
    """

    stage: str
    message: str


@tagged("progressed")
@immutable
class Progressed:
    """A stage progressed: `done` of `total` units are complete; `total` is 0 if unknown."""

    stage: str
    done: int
    total: int


@tagged("finished")
@immutable
class Finished:
    """A stage ended; it took `seconds`."""

    stage: str
    message: str
    seconds: float


@tagged("noted")
@immutable
class Noted:
    """A message for the user.

    Attributes:
        message: one sentence for people.
        warning: whether the message is a warning.
        changed: whether the message reports a change to the target that remains even if the run fails.
        detail: whether the message is only for verbose output.
    """

    message: str
    warning: bool = False
    changed: bool = False
    detail: bool = False


Event = Started | Progressed | Finished | Noted
Emit = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Ignore an event; callers that do not want events pass this function as `Emit`."""
