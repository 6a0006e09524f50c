"""The reports on all environments as text: a line for each, and what is wrong. The same value that --json prints."""

from collections.abc import Iterator

from fastinstall.cli.page import Page, joined
from fastinstall.cli.render import finding_lines
from fastinstall.model.finding import Report, Status, Survey

_BELOW = " " * 9


def survey_text(survey: Survey, page: Page) -> str:
    """Every environment in a line; below it what is wrong there, and with --verbose all that is not ok."""
    width = max((len(finding.check) for report in survey.reports for finding in report.findings), default=0)
    lines = [line for report in survey.reports for line in _report_lines(report, width, page)]
    for each in survey.unobservable:
        lines.append(f"{page.paint(f'{Status.UNKNOWN:<8}', Status.UNKNOWN)} {each.prefix}")
        lines += page.lines(each.problem, first=_BELOW, rest=_BELOW)
    lines.append(page.paint(f"{survey.status}: {_tally(survey)}", survey.status))
    return joined(lines)


def _report_lines(report: Report, width: int, page: Page) -> Iterator[str]:
    least = Status.HINT if page.verbose else Status.WARNING
    told = [finding for finding in report.findings if finding.status.gravity >= least.gravity]
    status = page.paint(f"{report.status:<8}", report.status)
    yield f"{status} {report.environment.prefix} ({report.environment.kind})"
    for finding in told:
        yield from finding_lines(finding, width, page)


def _tally(survey: Survey) -> str:
    counts = dict.fromkeys(Status, 0)
    for report in survey.reports:
        counts[report.status] += 1
    counts[Status.UNKNOWN] += len(survey.unobservable)
    told = [f"{number} {status}" for status, number in counts.items() if number]
    return f"{', '.join(told) or 'no environment with PIL is known'}; {survey.without} without PIL"
