"""Format doctor's reports, speed tables and errors as text, and print doctor's results in any format.

Text shows the same values as --json, for one environment or for all.

`doctor --quiet` prints one line for each environment with a problem, and nothing else. Its output suits cron, which
mails it, and the logs of continuous integration. The line is never wrapped, so that the command at its end can be
pasted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from fastinstall.cli.console import Console, Page, join_lines
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.codec import document, dump, encode
from fastinstall.core.errors import DeclinedError, ExitCode, FastinstallError
from fastinstall.core.messages import format_count, listing, quote
from fastinstall.model.facts import Facts
from fastinstall.model.finding import COLUMN, EnvironmentReport, Finding, Status, Survey, Unobservable
from fastinstall.model.results import Effect
from fastinstall.model.speed import SpeedTable

_DETAIL = " " * 11
_GAP = "  "
INSTRUCTIONS = {level.name: f" ({level.title})" for each in ARCHITECTURES for level in each.levels if level.title}
"""CPU level to the name of its instruction set in brackets: "x86-64-v3" to " (AVX2)"."""


def report_text(report: EnvironmentReport, page: Page, healthy: Iterable[str] | None = None) -> str:
    """Return a report of doctor: the problems, then a summary. With --verbose or named checks, list every check.

    Args:
        report: the findings of one environment.
        page: width, colours and verbosity of the stream.
        healthy: lines about the installed stack, printed if there is no error; None if checks were named.
    """
    told = [each for each in report.findings if page.verbose or healthy is None or each.status.gravity]
    width = max((len(finding.check) for finding in told), default=0)
    lines = [f"{report.environment.prefix} ({report.environment.kind})"] if page.verbose else []
    for finding in told:
        lines += finding_lines(finding, width, page, with_fix=page.verbose)  # the summary names --fix once
        if page.verbose and healthy is None and not finding.status.gravity:  # the user named a check that passed
            lines += _list_reasons(finding, page)
    wrong = any(each.status.gravity for each in report.findings)
    if report.status.gravity < Status.ERROR.gravity:
        lines += (line for text in healthy or () for line in page.lines(text, rest="  "))
    return join_lines((*lines, *page.advice(_summarize(report.findings), rest="  ", style="" if wrong else "ok")))


def list_stack(facts: Facts) -> tuple[str, ...]:
    """Return two lines: the installed Pillow, and its CPU level and libjpeg. Without Pillow, return one line."""
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
    """Return the number of checks that passed, in words ("12 checks passed")."""
    return f"{format_count(sum(finding.status is Status.OK for finding in findings), 'check')} passed"


def _summarize(findings: Sequence[Finding]) -> str:
    """Return the number of findings by status, and the command that repairs those that can be repaired."""
    wrong = sorted((each for each in findings if each.status.gravity), key=_rank, reverse=True)
    if not wrong:
        return count_passed(findings)
    counts = Counter(each.status for each in wrong)
    countable = (Status.HINT, Status.WARNING, Status.ERROR)
    counted = ", ".join(
        f"{number} {status}{'s' if number > 1 and status in countable else ''}" for status, number in counts.items()
    )
    told = f"{counted} ({count_passed(findings)})"
    fixed = [command for command in map(_command_of, wrong) if "--fix" in command]
    if not fixed:
        return told
    which = {1: "it", 2: "both"}.get(len(wrong), "all") if len(fixed) == len(wrong) else f"{len(fixed)} of them"
    return f"{told}. Fix {which}: {fixed[0]}"


def finding_text(finding: Finding, page: Page) -> str:
    """Return one finding as text, as in a report of doctor."""
    return join_lines(finding_lines(finding, len(finding.check), page))


def render_speed_table(table: SpeedTable, page: Page) -> str:
    """Return a speed table as text: milliseconds before and after, and their ratio, for each operation."""
    source = "from an earlier setup of the same two builds: " if table.reused else ""
    slower = table.slower
    rows = [
        (row.operation, f"{row.before_ms:.2f}", f"{row.after_ms:.2f}", row.range, "slower" if row in slower else "")
        for row in table.rows
    ]
    rows.append((f"geometric mean of {len(rows)}", "", "", f"{table.geomean:.1f}x", ""))
    if table.noise:
        rows.append(("noise (before measured twice)", "", "", f"{1 + table.noise:.1f}x at most", ""))
    head = ("operation", "before ms", "after ms", "faster", "")
    lines = [*page.lines(f"before: {table.baseline}; after: {table.candidate}", rest="  ")]
    lines += page.lines(source + table.occasion, rest="  ")
    return join_lines([*lines, *page.table(head, rows, right=(1, 2, 3))])


def error_text(error: FastinstallError, page: Page) -> str:
    """Return an error as text: message, details, hint. It is labelled "error:" unless a person declined."""
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


def finding_lines(finding: Finding, width: int, page: Page, *, with_fix: bool = True) -> Iterator[str]:
    """Yield a finding's message; if the check did not pass, also the hint and command, and with --verbose the evidence.

    Args:
        finding: a finding of doctor.
        width: the width of the column for the names of checks.
        page: width, colours and verbosity of the stream.
        with_fix: whether to print a command with `--fix`.
    """
    check = f"{finding.check:<{width}}  "
    yield from status_lines(finding.status, finding.message, page, first=check, rest=_DETAIL + " " * len(check))
    if finding.status.gravity == 0:
        return
    if page.verbose:
        yield from _list_reasons(finding, page)
    if finding.remedy is not None:
        yield from page.lines(f"hint: {finding.remedy.text}", first=_DETAIL, rest=_DETAIL + "      ")
        command = _command_of(finding)
        if command and (with_fix or "--fix" not in command):
            yield f"{_DETAIL}      {command}"


def status_lines(status: Status, text: str, page: Page, *, first: str = "", rest: str) -> Iterator[str]:
    """Yield lines: a coloured status, `first` and the text on one line, and `rest` before each further line of text."""
    before = f"  {status:<8} "
    beginning, *others = page.lines(text, first=before + first, rest=rest)
    yield f"  {page.paint(before[2:-1], status)} {beginning.removeprefix(before)}"
    yield from others


def _list_reasons(finding: Finding, page: Page) -> Iterator[str]:
    """Yield the evidence of a finding: expected and observed values, details, and a command to verify them."""
    if finding.expected or finding.observed:
        told = f"expected {finding.expected or '-'}; observed {finding.observed or '-'}"
        yield from page.lines(told, first=_DETAIL, rest=_DETAIL + "  ")
    yield from _list_rows([line.split(COLUMN) for line in finding.evidence if COLUMN in line], page)
    for line in finding.evidence:
        if COLUMN not in line:
            yield from page.lines(line, first=_DETAIL, rest=_DETAIL + "  ", style="dim")
    if finding.verify and finding.status.gravity >= Status.WARNING.gravity:
        # Never wrapped, so that the command can be pasted.
        yield _DETAIL + page.paint(f"verify: {finding.verify}", "dim")


def _list_rows(rows: Sequence[Sequence[str]], page: Page) -> Iterator[str]:
    """Yield the lines of a table; cells that do not fit go to the next line, and paths are never broken."""
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
    """Yield the output of --quiet: one line for each environment with a problem.

    Args:
        reports: the reports on examined environments.
        unobservable: the environments that could not be examined; each counts as `unknown`.
        least: the lowest status to print; findings below it are omitted.
    """
    for report in reports:
        told = [finding for finding in report.findings if finding.status.gravity >= least.gravity]
        if told:
            prefix, first = report.environment.prefix, max(told, key=_rank)
            more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
            command = _command_of(first) or f"fastinstall doctor --prefix {quote(prefix)}"
            yield _join_lines(f"{prefix}: {first.status}: {first.check}: {first.message}{more}; {command}")
    for each in unobservable:
        if Status.UNKNOWN.gravity >= least.gravity:
            yield _join_lines(f"{each.prefix}: {Status.UNKNOWN}: {each.problem}")


def _rank(finding: Finding) -> tuple[int, bool, bool]:
    """Return a sort key, greatest for the gravest finding; of equally grave ones, for one that --fix repairs.

    Among equals, the check `swapped` ranks highest, because it names the cause of other errors.
    """
    return finding.status.gravity, "--fix" in _command_of(finding), finding.check == "swapped"


def _command_of(finding: Finding) -> str:
    return (finding.remedy.command or "") if finding.remedy is not None else ""


def _join_lines(text: str) -> str:
    return " ".join(text.split())


_BELOW = " " * 9


def survey_text(survey: Survey, page: Page) -> str:
    """Return a line for each environment, followed by its warnings and errors, and with --verbose also by its hints."""
    width = max((len(finding.check) for report in survey.reports for finding in report.findings), default=0)
    least, lines = Status.HINT if page.verbose else Status.WARNING, []
    for report in survey.reports:
        status = page.paint(f"{report.status:<8}", report.status)
        lines.append(f"{status} {report.environment.prefix} ({report.environment.kind})")
        for finding in report.findings:
            if finding.status.gravity >= least.gravity:
                lines += finding_lines(finding, width, page)
    for each in survey.unobservable:
        lines.append(f"{page.paint(f'{Status.UNKNOWN:<8}', Status.UNKNOWN)} {each.prefix}")
        lines += page.lines(each.problem, first=_BELOW, rest=_BELOW)
    lines.append(page.paint(_count_reports(survey), survey.status))
    return join_lines(lines)


_IN_WORDS = {
    Status.OK: "healthy",
    Status.HINT: "with hints",
    Status.WARNING: "with warnings",
    Status.ERROR: "with errors",
    Status.UNKNOWN: "not examined",
}


def _count_reports(survey: Survey) -> str:
    counts = Counter(_IN_WORDS.get(report.status, str(report.status)) for report in survey.reports)
    counts.update(_IN_WORDS[Status.UNKNOWN] for _ in survey.unobservable)
    without = f"; {survey.without_pil} without Pillow" if survey.without_pil else ""
    if not counts:
        return f"no environment with Pillow is known{without}"
    told = ", ".join(f"{count} {words}" for words, count in counts.items())
    return f"{format_count(counts.total(), 'environment')} with Pillow: {told}{without}"


NEVER = "never"
"""Value of `--fail-on` with which findings do not affect the exit code."""


def least_status(fail_on: str) -> Status:
    """Return the lowest status that is a problem; `error` for "never", as that value affects only the exit code."""
    return Status.ERROR if fail_on == NEVER else Status(fail_on)


def tell_report(
    report: EnvironmentReport, console: Console, fail_on: str, facts: Facts | None = None, effect: Effect | None = None
) -> int:
    """Print the report on one environment, and return the exit code.

    Args:
        report: the findings.
        console: prints the report as text or JSON.
        fail_on: "error", "warning" or "never".
        facts: the observed facts, to describe the installed stack; None if checks were named.
        effect: what a repair changed; None if no repair was requested.
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
    """Print the reports on all environments, and return the exit code."""
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
    """Return the exit code: FINDINGS if the gravest status is at least `fail_on`, else OK; always OK for "never"."""
    if fail_on == NEVER:
        return ExitCode.OK
    return ExitCode.FINDINGS if status.gravity >= least_status(fail_on).gravity else ExitCode.OK
