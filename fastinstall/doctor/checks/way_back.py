"""Whether what fastinstall has changed can be undone, and the disk space that it holds for that.

- error: the receipt, or the journal of a transaction, is damaged. What cannot be understood is never touched. Setups
  and repairs refuse until it is put away. A rollback goes as far as the journals can be read.
- warning: a later fastinstall wrote them, in a form that this one does not understand; that one can go on.
- hint: there is nothing to roll back to, because the files were deleted. Or they hold more than 500 MB, or more than 5
  changes.

Why it matters:
What a setup replaces is moved aside, not deleted, and its journal says where everything belongs. That is what a
`rollback` needs, offline and to the byte. Old setups keep what they replaced until it is given up by somebody: nothing
is forgotten by itself.

How to fix it:
`fastinstall rollback --list` shows what can be undone, what it holds, and what cannot be read. `fastinstall rollback
--forget` gives up all but the last setup's, and says what it frees. With the name of a transaction that cannot be read,
it moves that one to `share/fastinstall/kept/` and deletes nothing. A damaged receipt can be renamed and the setup made
again; undoing it needs its journal alone. See [undo a setup](../how-to/undo.md).
"""

from collections.abc import Iterator

from fastinstall.core.messages import format_bytes
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import show_files, show_text, word_command
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.history import Unreadable, warn_about_held_bytes, way_out

_TRANSACTIONS = "share/fastinstall/tx"


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge journals and receipt, and what they hold."""
    history, verify = context.facts.history, show_files(context.facts.environment.prefix / _TRANSACTIONS)
    problems = (*_report_unreadable(context), *_report_gone(context, verify), *_report_held_bytes(context, verify))
    if problems:
        yield from problems
    elif context.receipt is None and not history.setups:
        yield Finding.ok("fastinstall has changed nothing here")
    else:
        held = f"; {format_bytes(history.held_bytes)} kept for that" if history.held_bytes is not None else ""
        yield Finding.ok(f"what fastinstall changed here can be undone{held}", verify=verify)


def _report_unreadable(context: CheckContext) -> Iterator[Finding]:
    for each in context.facts.history.unreadable:
        yield Finding.of(
            Status.WARNING if each.is_later else Status.ERROR,
            each.problem,
            evidence=(str(each.file),),
            remedy=_make_remedy(context, each),
            verify=show_text(each.file),
        )


def _make_remedy(context: CheckContext, unreadable: Unreadable) -> Remedy:
    if unreadable.is_later:
        wanted = f"fastinstall {unreadable.writer}" if unreadable.writer else "a later fastinstall"
        return Remedy(text=f"go on with {wanted}: python -m pip install --upgrade fastinstall")
    out = way_out(unreadable, context.facts.environment.prefix)
    if out is not None:
        return Remedy(text="put that transaction away: nothing is deleted, but it can no longer be undone", command=out)
    again = f"or rename it to {unreadable.file.name}.damaged and set up again"
    return Remedy(text=f"undo the setup from its journal; {again}", command=word_command(context, "rollback --yes"))


def _report_gone(context: CheckContext, verify: str) -> Iterator[Finding]:
    history, receipt = context.facts.history, context.receipt
    # Without sizes the journals were not looked at, or nothing is there at all.
    if receipt is None or history.held_bytes is None or receipt.id in history.setups or history.interruptions:
        return
    if receipt.id in {each.transaction for each in history.unreadable}:
        return
    replaced = f", which had replaced {receipt.previous}," if receipt.previous else ""
    yield Finding.hint(
        f"the setup of {receipt.distribution} {receipt.version}{replaced} cannot be undone: the files that it moved "
        "aside were deleted",
        expected=str(context.facts.environment.prefix / _TRANSACTIONS / receipt.id),
        observed="not there",
        verify=verify,
    )


def _report_held_bytes(context: CheckContext, verify: str) -> Iterator[Finding]:
    history = context.facts.history
    sentence = warn_about_held_bytes(history.setups, history.held_bytes or 0, context.facts.environment.prefix)
    if sentence is not None:
        text = "give up the older undo steps, except the last setup's"
        remedy = Remedy(text=text, command=word_command(context, "rollback --forget"))
        yield Finding.hint(sentence.partition("; ")[0], remedy=remedy, verify=verify)
