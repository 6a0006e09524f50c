"""What conda keeps account of against what lies in a conda environment, as far as it matters to PIL.

- error: records that cannot be read; conda refuses every command in this environment.
- warning: files of a package are gone, altered, or another package's; a package or a channel that is known to do harm;
  a pin that the installed Pillow contradicts; the channel that has the stack's packages is no longer registered.
- hint: two packages claim the same files, and the right one has them; a pin that something else contradicts.

Of files, PIL's own are the matter of `pillow-owner` and `pillow-files`, and headers of libjpeg that are not
libjpeg-turbo's that of `jpeg-library`. Whether the guard package is there says `guards`, and what an interrupted
transaction of conda's left behind, `interrupted`. Skipped where conda does not manage the environment.

Why it matters:
conda installs and removes by its records, whatever lies there by now. Two packages that claim the same files write
them over each other's, and removing one takes the other's along; conda mentions it once, when it happens. Of an old
recipe, libraries remain that no solver puts together again; and a pin that cannot be kept makes the next transaction
of conda's change something else, or fail.

How to fix it:
`fastinstall doctor --fix` has packages reinstalled that lost their files, libjpeg-turbo last. What is advised against
has to be removed by hand, since something may rest on it.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.model.conda import Conda
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.receipt import Receipt
from fastinstall.rules.checks._conda import installed
from fastinstall.rules.checks._conda_guard import is_registered
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair
from fastinstall.rules.checks._verify import find_text, show_files, show_text
from fastinstall.rules.checks._voice import Voice, listing

NAME = "conda-records"
SUMMARY = "Conda's records against the files that matter to PIL, its pins and channels, and what is known to do harm."
NEEDS_RUNTIME = False
ORDER = 20
VERIFIES_SETUP = False
SETUP_REPAIRS = True

_SAY = Voice(NAME)
_SHOWN = 3


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge what conda keeps account of."""
    conda = context.facts.conda
    if conda is None:
        yield _SAY.skipped(_why_none(context))
        return
    judges = (_unreadable, _files, _harmful, _pinned, _unregistered)
    problems = tuple(finding for judge in judges for finding in judge(context, conda))
    yield from problems or (_well(context, conda),)


def _why_none(context: CheckContext) -> str:
    if context.facts.environment.kind is EnvironmentKind.CONDA:
        return "conda's records were not looked at"
    return "conda does not manage this environment: it has no conda-meta"


def _well(context: CheckContext, conda: Conda) -> Finding:
    claimed = len({path for claim in conda.claims for path in claim.files})
    message = f"the records of {len(conda.packages)} packages agree with the {claimed} files that matter to PIL"
    evidence = listing(tuple(claim.dist for claim in conda.claims))
    return _SAY.ok(message, evidence=evidence, verify=show_files(_meta(context)))


def _meta(context: CheckContext) -> PurePath:
    return context.facts.environment.prefix / "conda-meta"


def _unreadable(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    if conda.unreadable:
        names = tuple(conda.unreadable)
        those, them = (names[0], "it") if len(names) == 1 else (f"{names[0]} and {len(names) - 1} more", "them")
        yield _SAY.error(
            f"conda's records cannot be read: {those}; conda refuses every command in this environment",
            evidence=listing(tuple(f"{name}: {problem}" for name, problem in conda.unreadable.items())),
            expected="one JSON document for each package, named after it",
            observed=conda.unreadable[names[0]],
            remedy=Remedy(text=f"move {them} out of conda-meta, and have conda install the same packages again"),
            verify=show_text(*(_meta(context) / name for name in names[:_SHOWN])),
        )


def _files(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    from fastinstall.rules.checks._conda_files import (  # noqa: PLC0415 (only in conda environments)
        contested_files,
        lost_of_packages,
    )

    yield from lost_of_packages(context, conda, _SAY)
    yield from contested_files(context, conda, _SAY)


def _harmful(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    from fastinstall.rules.checks._conda_advice import advised_against  # noqa: PLC0415 (only in conda environments)

    for advice in advised_against(conda):
        yield _SAY.warning(
            f"{advice.package.dist} {advice.reason}",
            evidence=(f"installed from {advice.package.channel or 'an unknown channel'}",),
            expected=advice.instead,
            observed=advice.package.dist,
            remedy=Remedy(text=f"have {advice.instead} in its place", command=advice.command(context)),
            verify=show_files(_meta(context) / advice.package.record),
        )


def _pinned(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    from fastinstall.rules.checks._conda_pins import contradicted  # noqa: PLC0415 (only in conda environments)

    for pin, package in contradicted(conda):
        matters = any(claim.dist == package.dist for claim in conda.claims)
        say = _SAY.warning if matters else _SAY.hint
        yield say(
            f"{package.name} is pinned to {pin!r}, and {package.version} {package.build} is installed: conda's next "
            "transaction changes it, or fails",
            evidence=(f"conda-meta/pinned: {pin}",),
            expected=pin,
            observed=package.dist,
            remedy=Remedy(text="take the line out of conda-meta/pinned, or install what it asks for"),
            verify=show_text(_meta(context) / "pinned"),
        )


def _any_more(receipt: Receipt, channel: PurePath) -> str:
    return " any more" if receipt.conda is not None and receipt.conda.channel == channel else ", which is a copy"


def _unregistered(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    receipt, facts = context.receipt, context.facts
    if receipt is None or receipt.conda is None or is_registered(facts, receipt):
        return
    from fastinstall.rules.conda_repair import channel_of  # noqa: PLC0415 (only in conda environments)

    channel = channel_of(receipt.conda, facts.environment.prefix)
    here = f"this environment{_any_more(receipt, channel)}"
    if installed(facts, receipt.conda.package.dist) is not None:
        yield _SAY.warning(
            f"the channel that has {receipt.conda.package.dist} is not registered for {here}: "
            "conda does not find the package when it solves, and may replace it",
            evidence=tuple(f"registered: {channel}" for channel in conda.channels),
            expected=str(channel),
            observed="not among the channels of this environment",
            remedy=repair(context),
            verify=find_text(str(channel), facts.environment.prefix / "condarc.d"),
        )
