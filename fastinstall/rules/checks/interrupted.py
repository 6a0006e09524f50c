"""What an interrupted installation left behind, fastinstall's or another tool's.

- error: a transaction of fastinstall neither finished nor was undone, or an installer was stopped midway. pip renames
  what it removes (`PIL` to `~IL`) and does not put it back when it is killed.
"""

from collections.abc import Iterator

from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair
from fastinstall.rules.checks._voice import Voice, listing

NAME = "interrupted"
SUMMARY = "Left-overs of an interrupted installation, pip's or fastinstall's own."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge left-overs."""
    problems = (*_ours(context), *_foreign(context))
    yield from problems or (_SAY.ok("no installation was interrupted here"),)


def _ours(context: CheckContext) -> Iterator[Finding]:
    transaction = context.facts.interrupted
    if transaction is not None:
        yield _SAY.error(
            f"fastinstall itself was interrupted: its transaction {transaction} neither finished nor was undone",
            evidence=(f"{context.facts.environment.prefix}/share/fastinstall/tx/{transaction}/journal.jsonl",),
            expected="every transaction finished or undone",
            observed=transaction,
            remedy=repair(context),
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
        )
