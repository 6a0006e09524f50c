"""What a person has answered the wizard so far, kept so that an interruption does not lose it."""

from pathlib import PurePath

from fastinstall.model.immutable import immutable
from fastinstall.model.wish import Wish


@immutable
class Answers:
    """Answers for one target.

    Attributes:
        target: the environment, or the directory in which one was to be made.
        before: the wish that flags, variables and settings gave.
        after: the wish as it was customised; without accepted risks, which are asked for each time.
        kept_at: ISO 8601, UTC.
        at_work: whether the plan was being carried out.
    """

    target: PurePath
    before: Wish
    after: Wish
    kept_at: str
    at_work: bool = False
