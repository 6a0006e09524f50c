"""A plan: the steps of a setup, in order and with reasons, as data that can be saved, read and refused.

It bears a digest of the facts that it depends on: a plan made from other facts is refused.
"""

from fastinstall.core.values import immutable, keyed
from fastinstall.model.facts import Environment
from fastinstall.model.request import PlanRisk, Request
from fastinstall.steps.kinds import Step


@immutable
class Skipped:
    """A step that is not needed, and why."""

    step: str
    reason: str


@immutable
class Plan:
    """What will be done to an environment.

    Attributes:
        environment: the environment that is changed, or that the first step makes.
        facts_digest: of the facts that it was made from; `apply` refuses it if they changed.
        request: the request that it answers.
        steps: in order; empty if there is nothing to do.
        skipped: what was not needed, and why.
        risks: what needs to be allowed by name, allowed or not.
        warnings: what the user should know before consenting (advisories, weaknesses).
        summary: what the plan does, in one sentence.
        verb: the command, for the list of setups that can be undone.
    """

    environment: Environment
    facts_digest: str
    request: Request = keyed("wish")
    steps: tuple[Step, ...]
    skipped: tuple[Skipped, ...] = ()
    risks: tuple[PlanRisk, ...] = keyed("hazards", default=())
    warnings: tuple[str, ...] = ()
    summary: str
    verb: str = "setup"
