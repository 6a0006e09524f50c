"""Doctor's reports, speed tables and errors as text, and the output of doctor's results in any format.

The text shows the same values that --json prints, for one environment or all. Results leave as text, one line or JSON,
and as an exit code.

`doctor --quiet` prints a line for each environment in which something is wrong, and nothing else. It is for cron, whose
mail is this line, and for logs of continuous integration. The line is never broken, so that the command at its end can
be pasted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from fastinstall.cli.console import Console, Page, join_lines
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.codec import document, dump, encode
from fastinstall.core.errors import DeclinedError, ExitCode, FastinstallError
from fastinstall.core.messages import format_count, listing, quote
from fastinstall.model.effect import Effect
from fastinstall.model.facts import Facts
from fastinstall.model.finding import COLUMN, EnvironmentReport, Finding, Status, Survey, Unobservable
from fastinstall.model.speed import SpeedTable

_DETAIL = " " * 11
_GAP = "  "
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
        if page.verbose and healthy is None and not finding.status.gravity:  # an ok that was asked for by name
            lines += _list_reasons(finding, page)
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
    return f"{format_count(sum(finding.status is Status.OK for finding in findings), 'check')} passed"


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
    """Return an error: what and where, its details, then the hint; that a person said no is not called an error."""
    label = "" if isinstance(error, DeclinedError) else "error: "
    lines = _render_labelled(label, error.message, page, indent="")
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
    margin = " " * (len(before) + width + 2)
    first, *others = page.lines(finding.message, first=f"{before}{finding.check:<{width}}  ", rest=margin)
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
    yield from _list_rows([line.split(COLUMN) for line in finding.evidence if COLUMN in line], page)
    for line in finding.evidence:
        if COLUMN not in line:
            yield from page.lines(line, first=_DETAIL, rest=_DETAIL + "  ", style="dim")
    if finding.verify and finding.status.gravity >= Status.WARNING.gravity:
        # Never broken, so that it can be pasted.
        yield _DETAIL + page.paint(f"verify: {finding.verify}", "dim")


def _list_rows(rows: Sequence[Sequence[str]], page: Page) -> Iterator[str]:
    """Yield a table; columns that have no room stand below their row, and a path is never broken."""
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    for row in rows:
        line, end = "", len(_DETAIL)
        for cell, width in zip(row, widths, strict=False):
            end += width + len(_GAP)
            if line and page.width is not None and end - len(_GAP) > page.width:
                yield _DETAIL + page.paint(line.rstrip(), "dim")
                line, end = _GAP, len(_DETAIL) + 2 * len(_GAP) + width
            line += f"{cell:<{width}}{_GAP}"
        yield _DETAIL + page.paint(line.rstrip(), "dim")


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
    without = f"; {survey.without_pil} without" if survey.without_pil else ""
    if not number:
        return f"no environment with Pillow is known{without}"
    return f"{format_count(number, 'environment')} with Pillow: {told}{without}"


NEVER = "never"
"""The value of `--fail-on` with which no finding gives an exit code of its own."""


def least_status(fail_on: str) -> Status:
    """Return the least grave status that counts; `never` speaks of the exit code alone."""
    return Status.ERROR if fail_on == NEVER else Status(fail_on)


def tell_report(
    report: EnvironmentReport,
    console: Console,
    fail_on: str,
    facts: Facts | None = None,
    effect: Effect | None = None,
) -> int:
    """Print the report on one environment; its exit code is returned.

    Args:
        report: the findings.
        console: for text and JSON.
        fail_on: "error", "warning" or "never".
        facts: what was observed, to say what is in place; None if checks were named.
        effect: what a repair did; None if none was asked for.
    """
    if console.json:
        did = encode(effect) if effect is not None else {}
        console.document(dump({**document("doctor", report), **did}))
    elif console.quiet:
        _tell_lines(quiet_lines((report,), (), least_status(fail_on)), console)
    else:
        healthy = list_stack(facts) if facts is not None else None
        console.data(report_text(report, console.out, healthy))
    return choose_exit_code(report.status, fail_on)


def tell_survey(survey: Survey, console: Console, fail_on: str) -> int:
    """Print the reports on all environments; the exit code is returned."""
    undetermined = bool(survey.unobservable) and not survey.reports
    if console.json:
        console.document(dump(document("doctor-all", survey)))
    elif console.quiet:
        least = Status.UNKNOWN if undetermined else least_status(fail_on)
        _tell_lines(quiet_lines(survey.reports, survey.unobservable, least), console)
    else:
        console.data(survey_text(survey, console.out))
    return ExitCode.UNDETERMINED if undetermined else choose_exit_code(survey.status, fail_on)


def _tell_lines(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.data(line)


def choose_exit_code(status: Status, fail_on: str) -> int:
    """Return the exit code for the highest status that was found."""
    if fail_on == NEVER:
        return ExitCode.OK
    return ExitCode.FINDINGS if status.gravity >= least_status(fail_on).gravity else ExitCode.OK
