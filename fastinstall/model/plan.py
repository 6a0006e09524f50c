"""A plan: what will be done, in which order and why; data that can be saved, read and refused."""

from fastinstall.model.environment import Environment
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import Step
from fastinstall.model.wish import Risk, Wish


@immutable
class Skipped:
    """A step that is not needed, and why."""

    step: str
    reason: str


@immutable
class Hazard:
    """A named risk that this plan takes.

    Attributes:
        risk: its name, for `--allow`.
        summary: what it means here, in one sentence.
        items: the particulars (advisories that come back, features that go).
        allowed: whether the wish allows it.
        instead: what to do rather than allow it; empty where nothing is known.
    """

    risk: Risk
    summary: str
    items: tuple[str, ...] = ()
    allowed: bool = False
    instead: str = ""


@immutable
class Plan:
    """What will be done to an environment.

    Attributes:
        environment: the target.
        facts_digest: of the facts that it was made from; `apply` refuses when they have changed.
        wish: what it answers.
        steps: in order; empty: nothing to do.
        skipped: what was not needed, and why.
        hazards: named risks.
        warnings: what the user should know before consenting (advisories, weaknesses).
        summary: one sentence.
        verb: what was called, for the list of what can be undone.
    """

    environment: Environment
    facts_digest: str
    wish: Wish
    steps: tuple[Step, ...]
    skipped: tuple[Skipped, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str
    verb: str = "setup"
