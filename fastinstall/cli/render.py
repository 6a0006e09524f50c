"""Reports, speed tables and errors as text. The same values that --json prints."""

import math
from collections.abc import Iterable, Iterator

from fastinstall.cli.page import Page, joined
from fastinstall.errors import FastinstallError
from fastinstall.model.finding import Finding, Report, Status
from fastinstall.model.receipt import SpeedTable

_DETAIL = " " * 11
_NOISE = 0.95


def report_text(report: Report, page: Page) -> str:
    """A report of doctor: one line a check, details where something is to be done."""
    lines = [f"{report.environment.prefix} ({report.environment.kind})"]
    width = max((len(finding.check) for finding in report.findings), default=0)
    for finding in report.findings:
        lines += finding_lines(finding, width, page)
    lines.append(page.paint(f"{report.status}: {_tally(report.findings)}", report.status))
    return joined(lines)


def finding_text(finding: Finding, page: Page) -> str:
    """One finding, as in a report of doctor."""
    return joined(finding_lines(finding, len(finding.check), page))


def speed_text(table: SpeedTable, page: Page) -> str:
    """A speed table: milliseconds before and after, and how many times faster."""
    mean = f"geometric mean of these {len(table.rows)}"
    width = max(len(mean), *(len(row.operation) for row in table.rows))
    lines = [
        *page.lines(f"before: {table.baseline}; after: {table.candidate}; {table.cpu}"),
        *(page.lines(f"of an earlier setup of the same two builds: {table.occasion}") if table.reused else ()),
        f"{'operation':<{width}}  {'before ms':>10}  {'after ms':>10}  {'faster':>8}",
    ]
    for row in table.rows:
        ratio = row.before_ms / row.after_ms if row.after_ms else math.inf
        mark = "  slower" if ratio < _NOISE else ""
        lines.append(f"{row.operation:<{width}}  {row.before_ms:>10.2f}  {row.after_ms:>10.2f}  {ratio:>7.2f}x{mark}")
    lines.append(f"{mean:<{width}}  {'':>10}  {'':>10}  {table.geomean:>7.2f}x")
    return joined(lines)


def error_text(error: FastinstallError, page: Page) -> str:
    """An error: what and where, its details, then the hint."""
    lines = _labelled("error: ", error.message, page, indent="")
    for detail in error.details:
        lines += page.lines(detail, first="  ", rest="    ")
    if error.hint:
        lines += _labelled("hint: ", error.hint, page, indent="  ")
    return joined(lines)


def _labelled(label: str, text: str, page: Page, *, indent: str) -> list[str]:
    first, *others = page.advice(text, first=indent + label, rest=indent + "  ")
    return [indent + page.paint(label, label.partition(":")[0]) + first.removeprefix(indent + label), *others]


def finding_lines(finding: Finding, width: int, page: Page) -> Iterator[str]:
    """One finding: its line, and below it what there is to know where it is not ok."""
    before = f"  {finding.status:<8} "
    first, *others = page.lines(
        finding.message, first=f"{before}{finding.check:<{width}}  ", rest=" " * (len(before) + width + 2)
    )
    yield f"  {page.paint(before[2:-1], finding.status)} {first.removeprefix(before)}"
    yield from others
    if finding.status.gravity == 0:
        return
    if finding.expected or finding.observed:
        told = f"expected {finding.expected or '-'}; observed {finding.observed or '-'}"
        yield from page.lines(told, first=_DETAIL, rest=_DETAIL + "  ")
    for line in page.shortened(finding.evidence):
        yield from page.lines(line, first=_DETAIL, rest=_DETAIL + "  ", style="dim")
    if finding.verify and finding.status.gravity >= Status.WARNING.gravity:
        # Never broken, so that it can be pasted.
        yield _DETAIL + page.paint(f"verify: {finding.verify}", "dim")
    if finding.remedy is not None:
        yield from page.lines(f"hint: {finding.remedy.text}", first=_DETAIL, rest=_DETAIL + "      ")
        if finding.remedy.command:
            yield f"{_DETAIL}      {finding.remedy.command}"


def _tally(findings: Iterable[Finding]) -> str:
    counts = dict.fromkeys(Status, 0)
    for finding in findings:
        counts[finding.status] += 1
    return ", ".join(f"{number} {status}" for status, number in counts.items() if number) or "no findings"
