"""What an interrupted installation left behind, fastinstall's or another tool's.

- error: a transaction of fastinstall neither finished nor was undone, or an installer was stopped midway. pip renames
  what it removes (`PIL` to `~IL`) and does not put it back when it is killed.

Why it matters:
An installer that is stopped midway leaves PIL missing, or mixed of two versions: 39 of 66 interruptions of pip did
(measured 2026-11-21). What begins with `~` is what it had moved aside; later runs of pip warn of it and leave it there.

How to fix it:
`fastinstall doctor --fix` finishes or undoes a transaction of fastinstall, and puts the stack back that was set up.
Elsewhere install Pillow again; what begins with `~` can then be removed by hand.
"""

from collections.abc import Iterator

from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair
from fastinstall.rules.checks._verify import show_files, show_text
from fastinstall.rules.checks._voice import Voice, listing

NAME = "interrupted"
SUMMARY = "Left-overs of an interrupted installation, pip's or fastinstall's own."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge left-overs."""
    problems = (*_ours(context), *_foreign(context))
    packages = show_files(context.facts.interpreter.site_packages)
    yield from problems or (_SAY.ok("no installation was interrupted here", verify=packages),)


def _ours(context: CheckContext) -> Iterator[Finding]:
    transaction = context.facts.interrupted
    if transaction is not None:
        journal = context.facts.environment.prefix / f"share/fastinstall/tx/{transaction}/journal.jsonl"
        yield _SAY.error(
            f"fastinstall itself was interrupted: its transaction {transaction} neither finished nor was undone",
            evidence=(str(journal),),
            expected="every transaction finished or undone",
            observed=transaction,
            remedy=repair(context),
            verify=show_text(journal),
        )


def _foreign(context: CheckContext) -> Iterator[Finding]:
    debris = context.facts.stack.debris
    if debris:
        yield _SAY.error(
            f"pip was interrupted while it replaced Pillow, and left {', '.join(debris)}",
            evidence=listing(tuple(f"{context.facts.interpreter.site_packages}/{name}" for name in debris)),
            expected="nothing that begins with ~",
            observed=", ".join(debris),
            remedy=repair(context),
            verify=show_files(*(context.facts.interpreter.site_packages / name for name in debris)),
        )
