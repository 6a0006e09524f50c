"""Set up an environment by a plan that the user agreed to; if its version fails the proof, try the one before it.

A build with our kernels is proven on this machine first. If that fails, nothing has been touched yet: the failure is
shown, and the user is asked about the newest version before it.

The caller runs `apply.recovery.recover_first` before the environment is observed for the plan; `set_up` does not
repeat it.
"""

from fastinstall.apply.carry_out import PlanConsent, SetupOutcome, carry_out, request_previous_version
from fastinstall.core.errors import FastinstallError, RefusedError, UnprovenError, UsageError
from fastinstall.core.events import Noted
from fastinstall.core.messages import quote
from fastinstall.doctor.registry import check_names, judge_facts
from fastinstall.model.finding import EnvironmentReport
from fastinstall.observe.observation import observe_committed
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.verbs.examine import Examination, examine
from fastinstall.verbs.plan import name_target, plan_setup


def set_up(session: Session, agreed: Plan, agree: PlanConsent) -> SetupOutcome:
    """Carry out a plan that was agreed to, or the next one that proves.

    Args:
        session: variables, directories, clock and event listener of this run.
        agreed: the plan, consented to.
        agree: asks for consent to another one.

    Raises:
        UnprovenError: it did not prove, and its version was named, or no earlier one is left.
        FastinstallError: as `carry_out` says.

    Example:
        target = NamedTarget(prefix=Path(".venv"))
        recover_first(session, target)
        plan = plan_setup(session, target, Request())
        outcome = set_up(session, plan, agree=lambda other: other)
        print(outcome.receipt.version)
    """
    while True:
        try:
            return carry_out(session, agreed)
        except UnprovenError as error:
            agreed = agree(_plan_previous_version(session, agreed, error))


def _plan_previous_version(session: Session, failed: Plan, error: UnprovenError) -> Plan:
    request = request_previous_version(session, failed.request, error)
    try:
        return plan_setup(session, name_target(failed), request)
    except (RefusedError, UsageError):
        raise error from None  # there is no earlier version: what failed is what has to be told


def examine_result(session: Session, outcome: SetupOutcome) -> EnvironmentReport | None:
    """Examine, for a person, what a plan has come to; None, which changes nothing, if that cannot be done.

    It judges what the verification looked at: what holds has been verified by then, and a script asks doctor itself.

    Example:
        report = examine_result(session, outcome)
    """
    plan, after = outcome.plan, outcome.after
    try:
        if after is None:
            return examine(session, plan.environment, Examination())
        recipe = recipe_named(session, plan.request.recipe)
        return judge_facts(session, observe_committed(after), outcome.receipt, recipe, check_names(()))
    except FastinstallError as error:
        again = f"fastinstall doctor --prefix {quote(plan.environment.prefix)}"
        session.emit(Noted(message=f"done, but not checked again: {error.message}; try: {again}", warning=True))
        return None
