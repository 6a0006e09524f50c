"""Whether the changes of fastinstall can be undone, and how much disk space the kept files occupy.

- error: the receipt, or the journal of a transaction, is damaged. Files of a damaged transaction are never touched.
  Setups and repairs are refused until it is moved away. A rollback goes as far as the journals can be read.
- warning: a later fastinstall wrote the receipt or a journal, and this version cannot read it. Use the later version.
- hint: there is nothing to roll back to, because the files were deleted. Or more than 500 MB, or more than 5 changes,
  are kept.

Why it matters:
A setup moves the files that it replaces aside, and its journal records where they belong. With both, `rollback`
restores the previous state offline and to the byte. The replaced files are kept until a user gives them up: nothing is
forgotten automatically.

How to fix it:
`fastinstall rollback --list` shows which changes can be undone, their disk space, and which cannot be read.
`fastinstall rollback --forget` deletes the kept files of all changes before the last setup, and says how much it frees.
With the ID of an unreadable transaction, it moves the transaction to `share/fastinstall/kept/`, and deletes nothing.
You can rename a damaged receipt and set up again; undoing a setup needs only its journal. See [undo a
setup](../how-to/undo.md).
"""

from collections.abc import Iterator

from fastinstall.core.messages import format_bytes
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import show_files, show_text, word_command
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.history import Unreadable, warn_about_held_bytes, way_out

_TRANSACTIONS = "share/fastinstall/tx"


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the journals, the receipt, and the disk space of kept files."""
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
    # If `held_bytes` is None, the sizes were not measured, so this check says nothing.
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
