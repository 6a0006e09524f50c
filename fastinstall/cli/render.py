"""Plans, reports, speed tables and errors as text. The same values that --json prints."""

import math
from collections.abc import Iterable, Iterator

from fastinstall.cli.page import Page, joined
from fastinstall.errors import FastinstallError
from fastinstall.model.finding import Finding, Report, Status
from fastinstall.model.plan import (
    Build,
    CreateEnvironment,
    Hazard,
    InstallGuard,
    Plan,
    PrivateHeaders,
    Prove,
    Step,
    Swap,
    SystemPackages,
    Verify,
)
from fastinstall.model.receipt import SpeedTable
from fastinstall.rules.messages import listing

_DETAIL = " " * 11
_NOISE = 0.95


def plan_text(plan: Plan, page: Page) -> str:
    """A plan: every step and skip with its reason, then what to weigh before consenting."""
    lines = list(page.lines(plan.summary, rest="  ", style="bold"))
    for number, step in enumerate(plan.steps, start=1):
        lines += page.lines(_step_text(step), first=f"  {number}. ", rest="     ")
        lines += (line for detail in _details(step) for line in page.lines(detail, first="     ", rest="       "))
        lines += page.lines(step.reason, first="     ", rest="     ", style="dim")
    for skip in plan.skipped:
        lines += page.lines(f"not needed: {skip.step} ({skip.reason})", first="  -  ", rest="     ", style="dim")
    for warning in plan.warnings:
        lines += page.advice(f"warning: {warning}", rest="  ", style="warning")
    for hazard in plan.hazards:
        lines += _hazard_lines(hazard, page)
    return joined(lines)


def report_text(report: Report, page: Page) -> str:
    """A report of doctor: one line a check, details where something is to be done."""
    lines = [f"{report.environment.prefix} ({report.environment.kind})"]
    width = max((len(finding.check) for finding in report.findings), default=0)
    for finding in report.findings:
        lines += _finding_lines(finding, width, page)
    lines.append(page.paint(f"{report.status}: {_tally(report.findings)}", report.status))
    return joined(lines)


def speed_text(table: SpeedTable, page: Page) -> str:
    """A speed table: milliseconds before and after, and how many times faster."""
    mean = f"geometric mean of these {len(table.rows)}"
    width = max(len(mean), *(len(row.operation) for row in table.rows))
    lines = [
        *page.lines(f"before: {table.baseline}; after: {table.candidate}; {table.cpu}"),
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


def _step_text(step: Step) -> str:  # noqa: PLR0911 (one for each kind of step)
    match step:
        case CreateEnvironment():
            return f"make the virtual environment {step.prefix} with {step.python}"
        case SystemPackages():
            return f"install system packages by {step.manager}: {' '.join(step.packages)}"
        case PrivateHeaders():
            return f"fetch headers by {step.manager} into the cache: {' '.join(step.packages)}"
        case Build():
            return _build_text(step)
        case Prove():
            against = step.baseline.filename if step.baseline else "what is in place"
            return f"prove it, and time it against {against}" if step.timed else "prove it"
        case Swap():
            return f"swap: {', '.join(step.removes) or 'nothing'} out, {step.installs} in"
        case InstallGuard():
            return "install the start-up guard"
        case Verify():
            return f"verify: {', '.join(step.checks)}"


def _build_text(step: Build) -> str:
    if step.prebuilt is not None:
        return f"take {step.prebuilt.filename} as it is"
    source = step.source.filename if step.source else "?"
    return f"build {step.distribution} {step.version} from {source} for {listing(step.levels)}"


def _details(step: Step) -> Iterator[str]:
    """What else goes into a build, and how each level is compiled."""
    if not isinstance(step, Build) or step.source is None:
        return
    if step.kernels is not None and step.base is not None:
        kernels = f"{step.kernels.name} {step.kernels.version} (which follows {step.base.name} {step.base.version})"
        yield f"kernels of {kernels} merged onto {step.source.name} {step.source.version}"
    if step.without:
        yield f"without its parts {listing(step.without)}"
    if step.statics:
        linked = (f"{each.name} {each.version} for {name}" for name, each in step.statics.items())
        yield f"linked in: {listing(linked)}"
    for target in step.targets:
        yield f"{target.level}: CFLAGS={' '.join(target.cflags)!r}"


def _hazard_lines(hazard: Hazard, page: Page) -> Iterator[str]:
    state = "allowed" if hazard.allowed else f"needs --allow {hazard.risk}"
    style = "warning" if hazard.allowed else "error"
    yield from page.lines(f"risk {hazard.risk} ({state}): {hazard.summary}", rest="  ", style=style)
    for item in page.shortened(hazard.items):
        yield from page.lines(item, first="     ", rest="       ")


def _finding_lines(finding: Finding, width: int, page: Page) -> Iterator[str]:
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
    if finding.remedy is not None:
        yield from page.lines(f"hint: {finding.remedy.text}", first=_DETAIL, rest=_DETAIL + "      ")
        if finding.remedy.command:
            yield f"{_DETAIL}      {finding.remedy.command}"


def _tally(findings: Iterable[Finding]) -> str:
    counts = dict.fromkeys(Status, 0)
    for finding in findings:
        counts[finding.status] += 1
    return ", ".join(f"{number} {status}" for status, number in counts.items() if number) or "no findings"
