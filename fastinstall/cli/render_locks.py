"""The verdict on requirement and lock files as text, as compilers print theirs. The same value that --json prints."""

from collections.abc import Iterator

from fastinstall.cli.page import Page, joined
from fastinstall.model.locks import LockFinding, LockReport


def locks_text(report: LockReport, page: Page) -> str:
    """Two or three lines a finding, and how many files were judged."""
    lines = [line for finding in report.findings for line in _finding_lines(finding, page)]
    number = len(report.files)
    files = f"{number} file{'s' if number != 1 else ''} checked, {len(report.findings) or 'no'} finding"
    plural = "" if len(report.findings) == 1 else "s"
    return joined([*lines, page.paint(f"{report.status}: {files}{plural}", report.status)])


def _finding_lines(finding: LockFinding, page: Page) -> Iterator[str]:
    place = f"{finding.file}:{finding.line}: "
    status = page.paint(f"{finding.status}: ", finding.status)
    yield f"{place}{status}{finding.says}: {finding.message}"
    yield from page.lines(f"hint: {finding.remedy.text}", first="  ", rest="        ")
    if finding.remedy.command:
        yield f"        {finding.remedy.command}"
