"""What an interrupted installation left behind, fastinstall's or another tool's.

- error: a transaction of fastinstall neither finished nor was undone, a change of its pin in a project was cut short,
  or an installer was stopped midway. pip renames what it removes (`PIL` to `~IL`) and does not put it back when it is
  killed; conda was stopped while packages that matter to PIL were half there.
- warning: fastinstall was stopped when it had changed nothing yet, or had only to clear up, and left directories of its
  own; conda left files behind that it had moved out of the way, and the packages that matter to PIL are whole.

Why it matters:
An installer that is stopped midway leaves PIL missing, or mixed of two versions: 39 of 66 interruptions of pip did
(measured 2026-11-21). What begins with `~` is what it had moved aside; later runs of pip warn of it and leave it there.
conda undoes a transaction that fails, and none that is killed.

How to fix it:
Whatever next command of fastinstall changes the environment finishes or undoes a transaction of fastinstall first, and
says so. `fastinstall doctor --fix` does that, and puts the stack back that was set up.
Elsewhere install Pillow again; what begins with `~` can then be removed by hand. What conda began, conda has to finish:
`conda list --revisions` tells what it did last; run that again, and remove what it left. Until then a setup refuses.
"""

from collections.abc import Iterator

from fastinstall.doctor.check_context import CheckContext, FindingFactory, listing
from fastinstall.doctor.remedies import repair, show_files, show_text
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.history import UnfinishedRun, describe_what_was_interrupted, recovery_command

NAME = "interrupted"
SUMMARY = "Left-overs of an interrupted installation: pip's, conda's, or fastinstall's own."
ORDER = 170
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)
_SHOWN = 3


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge left-overs."""
    problems = (
        *_report_own_interruptions(context),
        *_report_interrupted_pip(context),
        *_report_interrupted_conda(context),
    )
    packages = show_files(context.facts.interpreter.site_packages)
    yield from problems or (_SAY.ok("no installation was interrupted here", verify=packages),)


def _report_own_interruptions(context: CheckContext) -> Iterator[Finding]:
    prefix = context.facts.environment.prefix
    for each in context.facts.past.interruptions:
        say = _SAY.warning if each.cut in (UnfinishedRun.BEGINNING, UnfinishedRun.END) else _SAY.error
        foreign = each.cut is UnfinishedRun.FOREIGN_PIN
        what = (
            f"{describe_what_was_interrupted(each)}"
            if foreign
            else f"{describe_what_was_interrupted(each)} neither finished nor was undone"
        )
        yield say(
            f"fastinstall itself was interrupted: {what}",
            evidence=(str(each.file),),
            expected="whatever fastinstall begins is finished or undone",
            observed=each.id or str(each.cut),
            remedy=Remedy(
                text="take it out, if you know where it comes from" if foreign else "finish or undo it",
                command=recovery_command(each, prefix),
            ),
            verify=show_text(each.file),
        )


def _report_interrupted_pip(context: CheckContext) -> Iterator[Finding]:
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


def _report_interrupted_conda(context: CheckContext) -> Iterator[Finding]:
    conda, prefix = context.facts.conda, context.facts.environment.prefix
    if conda is not None and conda.debris:
        halves = tuple(claim.dist for claim in conda.claims if claim.missing)
        say, but = (_SAY.error, f" while {halves[0]} was half there") if halves else (_SAY.warning, "")
        first, more = conda.debris[0], f" and {len(conda.debris) - 1} more" if len(conda.debris) > 1 else ""
        yield say(
            f"a transaction of conda's was interrupted{but}, and left {first}{more}",
            evidence=listing(tuple(f"{prefix}/{name}" for name in conda.debris)),
            expected="what conda moves out of the way is gone when it has finished",
            observed=", ".join(conda.debris[:_SHOWN]),
            remedy=_finish(context),
            verify=show_files(*(prefix / name for name in conda.debris[:_SHOWN])),
        )


def _finish(context: CheckContext) -> Remedy:
    from fastinstall.model.conda_packages import conda_command  # noqa: PLC0415 (only in conda environments)

    told = conda_command(context.facts, "list", "--revisions")
    return Remedy(text="run again what conda did last, then remove by hand what it left", command=told)
