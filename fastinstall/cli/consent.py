"""Ask for consent to a plan and to each of its risks, or take the consent from `--yes` and `--allow`."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fastinstall.cli.console import Console, Page
from fastinstall.cli.main import Context
from fastinstall.cli.options import format_flags
from fastinstall.cli.questions import Asker, asker_for
from fastinstall.core.errors import DeclinedError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.model.request import PlanRisk

if TYPE_CHECKING:
    from fastinstall.setup.plan import Plan

_DECLINED = "declined; nothing was changed"


def consent(plan: "Plan", arguments: Namespace, context: Context, command: str, expected: Iterable[str] = ()) -> "Plan":
    """Show a plan, ask for consent to the plan and its risks, and return the plan with the accepted risks.

    Args:
        plan: the plan to agree to.
        arguments: the parsed arguments; `--yes` accepts the plan, but no risk.
        context: the context of this run, with the console.
        command: the same command with `--yes`, for the error message.
        expected: phrases on the expected speed gain, duration and cost.

    Raises:
        RefusedError: nobody can be asked, or --yes was given but a risk is not allowed (exit code 5).
        DeclinedError: the person declined.
    """
    from fastinstall.cli.text.plan_page import plan_text  # only for a plan

    is_shown = not (arguments.yes and context.console.json)
    if is_shown:
        context.console.talk(plan_text(plan, context.console.err, expected))
    if arguments.yes:
        refuse_unaccepted(plan, with_items=not is_shown or context.console.quiet)
        return plan
    refuse_without_yes(arguments, context.console, command, _list_unaccepted_risks(plan))
    agree("Proceed?", arguments, context.console, command)
    agreed = ask_for_risks(plan, asker_for(context.console))
    if agreed is None:
        raise DeclinedError(_DECLINED)
    return agreed


def agree(question: str, arguments: Namespace, console: Console, command: str) -> None:
    """Raise unless --yes was given or a person answers the question with yes.

    Args:
        question: a yes-or-no question.
        arguments: the parsed arguments, with or without `--yes`.
        console: knows whether a person can be asked.
        command: the same command with `--yes`, for the error message.

    Raises:
        RefusedError: nobody can be asked (exit code 5).
        DeclinedError: the person declined.
    """
    refuse_without_yes(arguments, console, command)
    if not arguments.yes and not asker_for(console).confirm(question):
        raise DeclinedError(_DECLINED)


def refuse_unaccepted(plan: "Plan", *, with_items: bool = True) -> None:
    """Raise if a plan takes a risk that was not allowed by name.

    Args:
        plan: the plan with its risks.
        with_items: whether the error lists the items of each risk; not necessary if the plan has been printed.

    Raises:
        RefusedError: a risk is not allowed; the message names each such risk.
    """
    if risks := _list_unaccepted_risks(plan):
        from fastinstall.cli.text.plan_page import leave_out_repeated_advisories  # needed only for a refusal
        from fastinstall.setup.decide.risks import make_consent_hint

        items: list[str] = []
        for plan_risk in risks if with_items else ():
            items += leave_out_repeated_advisories(plan_risk.items, items)
        raise RefusedError(
            "; ".join(plan_risk.summary for plan_risk in risks),
            hint=make_consent_hint(risks, plan.request.allow),
            details=Page().shortened(items),
        )


def refuse_without_yes(arguments: Namespace, console: Console, command: str, risks: Sequence[PlanRisk] = ()) -> None:
    """Raise if nobody can be asked and --yes was not given.

    Args:
        arguments: the parsed arguments, with or without `--yes`.
        console: knows whether a person can be asked.
        command: the same command with `--yes`, for the error message.
        risks: risks that the command must also allow by name.

    Raises:
        RefusedError: nobody can be asked; the hint is `command` (exit code 5).
    """
    if not arguments.yes and (not console.interactive or console.json):
        reason = "--json asks no questions" if console.interactive else "Not a terminal"
        allowing = f"--allow {','.join(each.risk for each in risks)}" if risks else ""
        also = f", and {allowing} for {'its risk' if len(risks) == 1 else 'its risks'}" if risks else ""
        raise RefusedError(f"{reason}: pass --yes to continue{also}", hint=f"{command} {allowing}".rstrip())


def ask_for_risks(plan: "Plan", asker: Asker) -> "Plan | None":
    """Ask about each risk that is not yet allowed; return the plan with all risks allowed, or None if one is declined.

    The allowed risks are added to the plan's request, so that the equivalent command line allows them.
    """
    risks = _list_unaccepted_risks(plan)
    for plan_risk in risks:
        if not asker.confirm(f"Accept the risk {plan_risk.risk}?", default=False):
            return None
    request = replace(plan.request, allow=(*plan.request.allow, *(plan_risk.risk for plan_risk in risks)))
    return replace(plan, request=request, risks=tuple(replace(plan_risk, allowed=True) for plan_risk in plan.risks))


def equivalent_command(plan: "Plan", *, names_python: bool) -> str:
    """Return the command line that makes the same plan without questions.

    Args:
        plan: a plan of `setup`.
        names_python: whether the user gave --python; if not, the default interpreter makes a new environment.
    """
    from fastinstall.verbs.setup import name_target  # only for a plan

    named = name_target(plan)
    target = ("--new-env", named.new) if named.new else ("--prefix", named.prefix)
    python = ("--python", named.python) if named.new and names_python else ()
    words = ("fastinstall", "setup", "--yes", *target, *python, *format_flags(plan.request))
    return " ".join(quote(str(word)) for word in words)


def _list_unaccepted_risks(plan: "Plan") -> tuple[PlanRisk, ...]:
    return tuple(plan_risk for plan_risk in plan.risks if not plan_risk.allowed)
