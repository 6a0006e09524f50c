"""Doctor's reports, speed tables and errors as text, and the output of doctor's results in any format.

The text shows the same values that --json prints, for one environment or all. Results leave as text, one line, JSON or
JUnit XML, and as an exit code.

`doctor --quiet` prints a line for each environment in which something is wrong, and nothing else. It is for cron, whose
mail is this line, and for logs of continuous integration. The line is never broken, so that the command at its end can
be pasted.
"""

import os
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from fastinstall.cli.console import Console, Page, join_lines
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.codec import document, dump
from fastinstall.core.errors import ExitCode, FastinstallError, UsageError
from fastinstall.core.home import expand_home
from fastinstall.core.messages import listing, quote
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable
from fastinstall.model.facts import Facts
from fastinstall.model.finding import EnvironmentReport, Finding, Status, Survey, Unobservable
from fastinstall.model.speed import SpeedTable

_DETAIL = " " * 11
INSTRUCTIONS = {level.name: f" ({level.title})" for each in ARCHITECTURES for level in each.levels if level.title}
"""What each CPU level is known by."""


def report_text(report: EnvironmentReport, page: Page, healthy: Iterable[str] | None = None) -> str:
    """Return a report of doctor: what is wrong, then a summary; with --verbose or named checks, every check in a line.

    Args:
        report: the findings of one environment.
        page: width, colours and verbosity of the stream.
        healthy: lines that say what is in place, for where there is no error; None if checks were named.
    """
    told = [each for each in report.findings if page.verbose or healthy is None or each.status.gravity]
    width = max((len(finding.check) for finding in told), default=0)
    lines = [f"{report.environment.prefix} ({report.environment.kind})"] if page.verbose else []
    for finding in told:
        lines += finding_lines(finding if page.verbose else _leave_out_repair(finding), width, page)
    wrong = any(each.status.gravity for each in report.findings)
    if report.status.gravity < Status.ERROR.gravity:
        lines += (line for text in healthy or () for line in page.lines(text, rest="  "))
    return join_lines((*lines, *page.advice(_summarize(report.findings), rest="  ", style="" if wrong else "ok")))


def _leave_out_repair(finding: Finding) -> Finding:
    """Return the finding without the command that the summary ends with."""
    remedy = finding.remedy
    if remedy is None or "--fix" not in (remedy.command or ""):
        return finding
    return replace(finding, remedy=replace(remedy, command=None))


def list_stack(facts: Facts) -> tuple[str, ...]:
    """List what is in place, and for which CPU level and with which libjpeg it runs."""
    stack, core, cpu = facts.stack, facts.stack.core, facts.cpu
    names = [f"{owner.distribution.name} {owner.distribution.version}" for owner in stack.owners]
    libraries = core.libraries if core is not None else ()
    jpeg = [f"{each.implementation} {each.version}".strip() for each in libraries if each.is_called_libjpeg]
    loaded = next((copy.level for copy in core.levels if copy.loaded), "") if core is not None else ""
    code = f"code for {loaded}" if loaded else "SIMD code" if core is not None and core.simd_symbols else "no SIMD code"
    level = f"{code}{INSTRUCTIONS.get(loaded, '')} on {cpu.name or cpu.architecture}"
    if not names and stack.version is None:
        return (f"no Pillow in {facts.environment.prefix}",)
    place = f"{listing(names) or f'PIL {stack.version}'} in {facts.environment.prefix}"
    return place, ", ".join((level, *(f"JPEG by {each}" for each in jpeg[:1])))


def count_passed(findings: Iterable[Finding]) -> str:
    """Count the checks that are ok."""
    number = sum(finding.status is Status.OK for finding in findings)
    return f"{number} check{'' if number == 1 else 's'} passed"


def _summarize(findings: Sequence[Finding]) -> str:
    """Return how many findings of each kind there are, and the command that repairs what can be repaired."""
    wrong = sorted((each for each in findings if each.status.gravity), key=_rank, reverse=True)
    if not wrong:
        return count_passed(findings)
    counts = Counter(each.status for each in wrong).items()
    counted = ", ".join(f"{number} {status}{_plural(status, number)}" for status, number in counts)
    told = f"{counted} ({count_passed(findings)})"
    commands = [each.remedy.command for each in wrong if each.remedy is not None and each.remedy.command]
    fixed = [command for command in commands if "--fix" in command]
    if not fixed:
        return told
    number = len(fixed) if len(fixed) < len(wrong) else 0
    which = f"{number} of them" if number else {1: "it", 2: "both"}.get(len(wrong), "all")
    return f"{told}. Fix {which}: {fixed[0]}"


def _plural(status: Status, number: int) -> str:
    return "s" if number > 1 and status in (Status.HINT, Status.WARNING, Status.ERROR) else ""


def finding_text(finding: Finding, page: Page) -> str:
    """Return one finding, as in a report of doctor."""
    return join_lines(finding_lines(finding, len(finding.check), page))


def render_speed_table(table: SpeedTable, page: Page) -> str:
    """Return a speed table: milliseconds before and after, and how many times faster."""
    source = "of an earlier setup of the same two builds: " if table.reused else ""
    slower = table.slower
    rows = [
        (
            row.operation,
            f"{row.before_ms:.2f}",
            f"{row.after_ms:.2f}",
            row.range,
            "slower" if row in slower else "",
        )
        for row in table.rows
    ]
    rows.append((f"geometric mean of {len(rows)}", "", "", f"{table.geomean:.1f}x", ""))
    if table.noise:
        rows.append(("before against itself", "", "", f"{1 + table.noise:.1f}x at most", ""))
    return join_lines(
        (
            *page.lines(f"before: {table.baseline}; after: {table.candidate}", rest="  "),
            *page.lines(source + table.occasion, rest="  "),
            *page.table(("operation", "before ms", "after ms", "faster", ""), rows, right=(1, 2, 3)),
        )
    )


def error_text(error: FastinstallError, page: Page) -> str:
    """Return an error: what and where, its details, then the hint."""
    lines = _render_labelled("error: ", error.message, page, indent="")
    for detail in error.details:
        lines += page.lines(detail, first="  ", rest="    ")
    if error.hint:
        lines += _render_labelled("hint: ", error.hint, page, indent="  ")
    return join_lines(lines)


def _render_labelled(label: str, text: str, page: Page, *, indent: str) -> list[str]:
    first, *others = page.advice(text, first=indent + label, rest=indent + "  ")
    return [indent + page.paint(label, label.partition(":")[0]) + first.removeprefix(indent + label), *others]


def finding_lines(finding: Finding, width: int, page: Page) -> Iterator[str]:
    """Yield one finding: its line, and below it what there is to know if it is not ok."""
    before = f"  {finding.status:<8} "
    first, *others = page.lines(
        finding.message, first=f"{before}{finding.check:<{width}}  ", rest=" " * (len(before) + width + 2)
    )
    yield f"  {page.paint(before[2:-1], finding.status)} {first.removeprefix(before)}"
    yield from others
    if finding.status.gravity == 0:
        return
    if page.verbose:
        yield from _list_reasons(finding, page)
    if finding.remedy is not None:
        yield from page.lines(f"hint: {finding.remedy.text}", first=_DETAIL, rest=_DETAIL + "      ")
        if finding.remedy.command:
            yield f"{_DETAIL}      {finding.remedy.command}"


def _list_reasons(finding: Finding, page: Page) -> Iterator[str]:
    """List what a finding rests on."""
    if finding.expected or finding.observed:
        told = f"expected {finding.expected or '-'}; observed {finding.observed or '-'}"
        yield from page.lines(told, first=_DETAIL, rest=_DETAIL + "  ")
    for line in finding.evidence:
        yield from page.lines(line, first=_DETAIL, rest=_DETAIL + "  ", style="dim")
    if finding.verify and finding.status.gravity >= Status.WARNING.gravity:
        # Never broken, so that it can be pasted.
        yield _DETAIL + page.paint(f"verify: {finding.verify}", "dim")


def quiet_lines(
    reports: Iterable[EnvironmentReport], unobservable: Iterable[Unobservable], least: Status
) -> Iterator[str]:
    """Yield what --quiet prints: a line for each environment in which something is wrong.

    Args:
        reports: of the environments that were examined.
        unobservable: those that could not be looked at; each weighs as `unknown`.
        least: what is less grave is not told.
    """
    for report in reports:
        told = [finding for finding in report.findings if finding.status.gravity >= least.gravity]
        if told:
            yield _render_report_line(report, told)
    for each in unobservable:
        if Status.UNKNOWN.gravity >= least.gravity:
            yield _join_lines(f"{each.prefix}: {Status.UNKNOWN}: {each.problem}")


def _render_report_line(report: EnvironmentReport, told: list[Finding]) -> str:
    prefix = report.environment.prefix
    first = max(told, key=_rank)
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    command = first.remedy.command if first.remedy is not None else None
    asked = command or f"fastinstall doctor --prefix {quote(prefix)}"
    return _join_lines(f"{prefix}: {first.status}: {first.check}: {first.message}{more}; {asked}")


def _rank(finding: Finding) -> tuple[int, bool, bool]:
    """Rank the gravest first; among those, what a repair puts right, and what tells the cause."""
    command = finding.remedy.command if finding.remedy is not None else None
    return finding.status.gravity, "--fix" in (command or ""), finding.check == "swapped"


def _join_lines(text: str) -> str:
    return " ".join(text.split())


_BELOW = " " * 9


def survey_text(survey: Survey, page: Page) -> str:
    """Return every environment in a line; below it what is wrong there, and with --verbose all that is not ok."""
    width = max((len(finding.check) for report in survey.reports for finding in report.findings), default=0)
    lines = [line for report in survey.reports for line in _report_lines(report, width, page)]
    for each in survey.unobservable:
        lines.append(f"{page.paint(f'{Status.UNKNOWN:<8}', Status.UNKNOWN)} {each.prefix}")
        lines += page.lines(each.problem, first=_BELOW, rest=_BELOW)
    lines.append(page.paint(_count_reports(survey), survey.status))
    return join_lines(lines)


def _report_lines(report: EnvironmentReport, width: int, page: Page) -> Iterator[str]:
    least = Status.HINT if page.verbose else Status.WARNING
    told = [finding for finding in report.findings if finding.status.gravity >= least.gravity]
    status = page.paint(f"{report.status:<8}", report.status)
    yield f"{status} {report.environment.prefix} ({report.environment.kind})"
    for finding in told:
        yield from finding_lines(finding, width, page)


_IN_WORDS = {
    Status.OK: "healthy",
    Status.HINT: "with hints",
    Status.WARNING: "with warnings",
    Status.ERROR: "with errors",
    Status.UNKNOWN: "not examined",
}


def _count_reports(survey: Survey) -> str:
    statuses = (*(report.status for report in survey.reports), *(Status.UNKNOWN for _ in survey.unobservable))
    number = len(statuses)
    counts = Counter(_IN_WORDS.get(status, str(status)) for status in statuses)
    told = ", ".join(f"{count} {words}" for words, count in counts.items())
    without = f"; {survey.without} without" if survey.without else ""
    if not number:
        return f"no environment with Pillow is known{without}"
    return f"{number} environment{'' if number == 1 else 's'} with Pillow: {told}{without}"


_NEVER = "never"


@immutable
class ResultOutput:
    """Where the results of a run go.

    Attributes:
        console: for text and JSON.
        fail_on: "error", "warning" or "never".
        junit: the file for JUnit XML; None for none.
        now: tells the time, for the report's own date.
    """

    console: Console
    fail_on: str
    junit: Path | None
    now: Callable[[], datetime]

    @property
    def is_text(self) -> bool:
        """Whether people read stdout, and not those who see findings alone."""
        return not (self.console.json or self.console.quiet)

    @property
    def least(self) -> Status:
        """The least grave status that counts; `never` speaks of the exit code alone."""
        return Status.ERROR if self.fail_on == _NEVER else Status(self.fail_on)


def open_outlet(arguments: Namespace, console: Console, now: Callable[[], datetime]) -> ResultOutput:
    """Return the outlet that the flags ask for.

    Raises:
        UsageError: JUnit XML cannot be written there: it takes the place of a file, and never of a device or a link.
    """
    junit = expand_home(arguments.junit) if arguments.junit else None
    if junit is not None and os.path.lexists(junit) and (junit.is_symlink() or not junit.is_file()):
        raise UsageError(f"--junit {junit}: no regular file", hint="name a file that can be written")
    return ResultOutput(console=console, fail_on=arguments.fail_on, junit=junit, now=now)


def tell_report(report: EnvironmentReport, outlet: ResultOutput, facts: Facts | None = None) -> int:
    """Print and write the report on one environment; its exit code is returned."""
    _tell(report, Survey(status=report.status, reports=(report,)), outlet, outlet.least, facts)
    return _choose_exit_code(report.status, outlet)


def tell_survey(survey: Survey, outlet: ResultOutput) -> int:
    """Print and write the reports on all environments; the exit code is returned."""
    undetermined = bool(survey.unobservable) and not survey.reports
    _tell(survey, survey, outlet, Status.UNKNOWN if undetermined else outlet.least)
    return ExitCode.UNDETERMINED if undetermined else _choose_exit_code(survey.status, outlet)


def _tell(
    told: EnvironmentReport | Survey, survey: Survey, outlet: ResultOutput, least: Status, facts: Facts | None = None
) -> None:
    """Print what was asked for, and write JUnit XML of all that was examined."""
    console, one = outlet.console, isinstance(told, EnvironmentReport)
    if console.json:
        console.data(dump(document("doctor", told) if one else document("doctor-all", told)))
    elif console.quiet:
        for line in quiet_lines(survey.reports, survey.unobservable, least):
            console.data(line)
    else:
        healthy = list_stack(facts) if facts is not None else None
        page = console.out
        console.data(report_text(survey.reports[0], page, healthy) if one else survey_text(survey, page))
    _write_junit(outlet, survey, least)


def write_undetermined(each: Unobservable, outlet: ResultOutput) -> None:
    """Write JUnit XML of a target that could not be looked at; text is for whoever caught the error."""
    _write_junit(outlet, Survey(status=Status.UNKNOWN, reports=(), unobservable=(each,)), Status.UNKNOWN)


def _write_junit(outlet: ResultOutput, survey: Survey, least: Status) -> None:
    if outlet.junit is None:
        return
    from fastinstall.cli.text.junit import junit_xml  # noqa: PLC0415 (only with --junit)
    from fastinstall.core.files import write_text  # noqa: PLC0415 (likewise)

    text = redact_text(junit_xml(survey.reports, survey.unobservable, least, outlet.now()), outlet.console.known)
    try:
        write_text(outlet.junit, text)
    except OSError as error:
        problem = f"--junit {outlet.junit}: {error.strerror or error}"
        raise UsageError(problem, hint="name a file that can be written") from None


def _choose_exit_code(status: Status, outlet: ResultOutput) -> int:
    if outlet.fail_on == _NEVER:
        return ExitCode.OK
    return ExitCode.FINDINGS if status.gravity >= outlet.least.gravity else ExitCode.OK
