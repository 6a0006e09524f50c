"""The state of many machines as text that stays short whatever their number. The same value that --json prints."""

from collections.abc import Iterator

from fastinstall.cli.page import Page, joined
from fastinstall.cli.render_fleet import first_names
from fastinstall.model.collected import Collected, SharedFinding, Unreported
from fastinstall.model.finding import Status
from fastinstall.rules.fleet_words import counted

_FINDINGS = 15
_REASONS = 2
_BELOW = " " * 11


def collected_text(collected: Collected, page: Page) -> str:
    """Hosts by status, what they share, the gravest first, and whose state nobody knows."""
    lines: list[str] = []
    for status, names in collected.hosts.items():
        named = "" if status == Status.OK else f"  {first_names(names, page)}"
        lines.append(f"{page.paint(f'{status:<8}', status)} {counted(len(names), 'host')}{named}")
    shown = collected.findings if page.verbose else collected.findings[:_FINDINGS]
    if shown:
        lines.append("")
    for finding in shown:
        lines += _finding_lines(finding, page)
    if len(collected.findings) > len(shown):
        lines.append(f"  ... and {len(collected.findings) - len(shown):,} more findings: --verbose or --json")
    if collected.unreported:
        lines += ["", *_unreported_lines(collected, page)]
    if collected.unexpected:
        count = counted(len(collected.unexpected), "host")
        lines += page.lines(f"not expected: {count} with a report: {first_names(collected.unexpected, page)}")
    lines.append(page.paint(f"{collected.status}: {collected.summary}", collected.status))
    return joined(lines)


def _finding_lines(finding: SharedFinding, page: Page) -> Iterator[str]:
    before = f"  {finding.status:<8} "
    told = f"{finding.check}: {finding.message}"
    first, *others = page.lines(told, first=before, rest=_BELOW)
    yield f"  {page.paint(before[2:-1], finding.status)} {first.removeprefix(before)}"
    yield from others
    hosts = f"{counted(len(finding.hosts), 'host')}: {first_names(finding.hosts, page)}"
    yield from page.lines(hosts, first=_BELOW, rest=_BELOW + "  ")
    if finding.remedy is not None:
        yield from page.lines(f"hint: {finding.remedy.text}", first=_BELOW, rest=_BELOW + "      ", style="dim")
        if finding.remedy.command:
            yield f"{_BELOW}      {finding.remedy.command}"


def _unreported_lines(collected: Collected, page: Page) -> Iterator[str]:
    silent = len({each.host for each in collected.unreported})
    yield page.paint(f"without a report: {counted(silent, 'host')}", "warning")
    by_absence: dict[str, list[Unreported]] = {}
    for each in collected.unreported:
        by_absence.setdefault(each.absence, []).append(each)
    for absence, found in by_absence.items():
        names = tuple(dict.fromkeys(each.host for each in found))
        yield from page.lines(
            f"{absence}: {counted(len(names), 'host')}: {first_names(names, page)}", first="  ", rest="    "
        )
        if absence != "missing":
            for each in found if page.verbose else found[:_REASONS]:
                yield from page.lines(f"{each.host}: {each.reason}", first="    ", rest="      ", style="dim")
        yield from page.advice(f"hint: {found[0].hint}", first="    ", rest="      ")
