"""What a dead run left, in one sentence: for those who look, and for those who have brought it to its end. Pure."""

from pathlib import PurePath

from fastinstall.model.history import Cut, Interruption, Unreadable
from fastinstall.rules.messages import fix_command, quote


def told(interruption: Interruption, prefix: PurePath) -> str:
    """Describe what was interrupted and name the command that recovers it.

    Args:
        interruption: of the environment, or of its project.
        prefix: of the environment.
    """
    command = mending_command(interruption, prefix)
    if interruption.cut is Cut.FOREIGN_PIN:
        what = f"{what_was(interruption)}, and is left as it is"
        return f"{what}; if you know where it comes from, take it out: {command}"
    return f"{what_was(interruption)} was interrupted; {_aim(interruption.cut)}: {command}"


def ended(interruption: Interruption) -> str:
    """Describe what had been interrupted and how recovery left it."""
    return f"{what_was(interruption)} had been interrupted; {_END[interruption.cut]}"


def what_was(interruption: Interruption) -> str:
    """What was interrupted, and when it had begun."""
    run = f"{interruption.verb or 'run'}{f' of {interruption.at}' if interruption.at else ''}"
    match interruption.cut:
        case Cut.SETUP | Cut.BEGINNING:
            return f"the {run}"
        case Cut.ROLLBACK:
            return f"undoing the {run}"
        case Cut.END:
            return f"clearing up after the {run}"
        case Cut.CREATION:
            return f"making the environment{f' at {interruption.at}' if interruption.at else ''}"
        case Cut.PIN:
            return f"a change of the pin in {interruption.file.parent.parent}"
        case Cut.FOREIGN_PIN:
            return f"a change of the pin in {interruption.file.parent.parent} that you did not begin here is unfinished"


def mending_command(interruption: Interruption, prefix: PurePath) -> str:
    """The command that brings it to its end, and does nothing else where that can be had."""
    if interruption.cut in (Cut.SETUP, Cut.ROLLBACK):
        return f"fastinstall rollback --yes --prefix {quote(prefix)}"
    if interruption.cut is Cut.CREATION:
        return f"fastinstall setup --yes --new-env {quote(prefix)}"
    if interruption.cut is Cut.FOREIGN_PIN:
        return unpinning_command(interruption.file.parent.parent, prefix)
    return f"{fix_command(prefix)} --yes"


def unpinning_command(project: PurePath, prefix: PurePath) -> str:
    """The command that takes the pin out of a project, whoever made it."""
    return f"fastinstall guard remove --yes --prefix {quote(prefix)} --project {quote(project)}"


def way_out(unreadable: Unreadable, prefix: PurePath) -> str | None:
    """Return the command that repairs an unreadable transaction, or None if a later fastinstall is needed."""
    if unreadable.is_later or not unreadable.transaction:
        return None
    return f"fastinstall rollback --forget {quote(unreadable.transaction)} --prefix {quote(prefix)}"


def cleared(interruption: Interruption) -> str:
    """Describe an interruption that left nothing behind."""
    return f"{what_was(interruption)} had been interrupted; what was there of it is cleared away"


def _aim(cut: Cut) -> str:
    match cut:
        case Cut.SETUP:
            return "to have the environment as it was before it"
        case Cut.CREATION:
            return "to begin again"
        case _:
            return "to finish it"


_END = {
    Cut.SETUP: "the environment is as it was before it",
    Cut.ROLLBACK: "it is finished: the environment is as it was before that",
    Cut.BEGINNING: "it had changed nothing, and what it had begun is cleared away",
    Cut.END: "it is finished",
    Cut.PIN: "it is brought to its end",
    Cut.FOREIGN_PIN: "it is left as it is",
    Cut.CREATION: "it is taken as it is",
}
