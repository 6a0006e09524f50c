"""Our part of `conda doctor`: the quick checks as a few lines, and the repair after conda's own consent.

Written to stdout, as conda's own checks are; to stderr where conda was asked for JSON.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from fastinstall.api.doctor import Examination
from fastinstall.api.doctor import examine as examine_environment
from fastinstall.api.session import open_session
from fastinstall.api.target import Target, find
from fastinstall.conda_hooks import run
from fastinstall.errors import FastinstallError
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.finding import Finding, Remedy, Report, Status

_WARNING = Status.WARNING.gravity
_SHOWN = 5  # lines of evidence
_GOOD, _BAD = "✅", "❌"  # as the lines of conda's own checks begin


def examine(prefix: str, *, verbose: bool) -> None:
    """Write what doctor's quick checks find, if there is a setup.

    Args:
        prefix: the environment.
        verbose: every finding, and what it rests on; else those that are warnings or errors.
    """
    try:
        report = _report(prefix)
    except FastinstallError as error:
        _write(f"{_mark(Status.ERROR)} fastinstall: {error.message}", *_hint(error.hint), "")
        return
    if report is not None:
        _write(*_report_lines(report, verbose=verbose), "")


def fix(prefix: str, confirm: Callable[[str], None]) -> int:
    """Put back what was set up.

    Args:
        prefix: the environment.
        confirm: asks; raises, by conda's means, where the answer is no or nothing is to be changed.

    Returns:
        The exit code of the repair; 0 where there is nothing to repair.

    Raises:
        FastinstallError: the environment cannot be examined.
    """
    report = _report(prefix)
    if report is None:
        return 0
    repairable = [
        each for each in report.findings if each.remedy is not None and "--fix" in (each.remedy.command or "")
    ]
    if not repairable:
        _write("fastinstall: there is nothing that a repair would change", "")
        return 0
    _write(*(f"fastinstall: {finding.message}" for finding in repairable), "")
    confirm("Put back the Pillow that fastinstall has set up?")
    return run(("doctor", "--fix", "--yes", "--prefix", prefix))


def _is_repairable(finding: Finding) -> bool:
    return finding.remedy is not None and "--fix" in (finding.remedy.command or "")


def _report(prefix: str) -> Report | None:
    if not Path(prefix, RECEIPT).is_file():
        return None
    session = open_session(dict(os.environ))
    return examine_environment(session, find(session, Target(prefix=Path(prefix))), Examination(quick=True))


def _report_lines(report: Report, *, verbose: bool) -> Iterator[str]:
    grave = [finding for finding in report.findings if finding.status.gravity >= _WARNING]
    told = f"{len(grave)} of {len(report.findings)} findings are warnings or errors" if grave else _in_place(report)
    yield f"{_mark(report.status)} fastinstall: {told}"
    for finding in report.findings if verbose else grave:
        yield f"  {finding.status} {finding.check}: {finding.message}"
        if verbose:
            yield from _evidence(finding)
        if finding.status.gravity:
            yield from (f"    {line}" for line in _remedy(finding))


def _evidence(finding: Finding) -> Iterator[str]:
    shown = finding.evidence[:_SHOWN]
    yield from (f"    {line}" for line in shown)
    if len(finding.evidence) > len(shown):
        yield f"    and {len(finding.evidence) - len(shown)} more"


def _in_place(report: Report) -> str:
    return next((finding.message for finding in report.findings if finding.check == "swapped"), "all is well")


def _remedy(finding: Finding) -> tuple[str, ...]:
    remedy = finding.remedy or Remedy(text="")
    command = remedy.command or ""
    # The plugin is where conda is; our own command need not be on PATH.
    there = f"conda {command}" if command.startswith("fastinstall ") else command
    return _hint(": ".join(filter(None, (remedy.text, there))))


def _hint(text: str | None) -> tuple[str, ...]:
    return (f"hint: {text}",) if text else ()


def _mark(status: Status) -> str:
    return _BAD if status.gravity >= _WARNING else _GOOD


def _write(*lines: str) -> None:
    from conda.base.context import context  # noqa: PLC0415 (conda's)

    stream: TextIO = sys.stderr if context.json else sys.stdout
    stream.write("".join(f"{line}\n" for line in lines))
