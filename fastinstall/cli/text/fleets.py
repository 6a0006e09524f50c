"""Format the plan of wheels for many machines, and doctor's reports collected from many machines, as short text.

The values are the same as those of --json.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall.cli.console import Page, join_lines
from fastinstall.cli.text.reports import status_lines
from fastinstall.core.messages import listing
from fastinstall.fleet.fleet import ExcludedHost, Fleet, FleetArtefact
from fastinstall.fleet.reports import Collected, SharedFinding, Unreported
from fastinstall.fleet.wheel_choice import format_quantity
from fastinstall.model.finding import Status

_NAMES = 3
_GROUPS = 12
_ROOM_FOR_NAMES = 100
_REASONS = 3
_BELOW = " " * 4


def fleet_text(fleet: Fleet, page: Page) -> str:
    """Return the wheels, the groups of hosts and the excluded hosts of a fleet, with counts and the first few names."""
    lines = [page.paint(fleet.summary, "bold")]
    for artefact in fleet.artefacts:
        lines += _render_artefact(artefact, page)
    if fleet.groups:
        lines += ["", *_group_lines(fleet, page)]
    if fleet.left_out:
        lines += ["", *render_excluded_hosts(fleet.left_out, page)]
    for note in fleet.notes:
        lines += page.lines(note, first="note: ", rest="  ")
    return join_lines(lines)


def first_names(names: Sequence[str], page: Page) -> str:
    """Return the first few names and the number of the others; with --verbose, all names."""
    if page.verbose or len(names) <= _NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMES])} and {len(names) - _NAMES:,} more"


def render_excluded_hosts(left_out: Sequence[ExcludedHost], page: Page) -> Iterator[str]:
    """Yield the causes for which hosts are left out, the most frequent first, each with its first few reasons."""
    yield page.paint(f"left out: {format_quantity(len(left_out), 'host')}", "warning")
    by_cause: dict[str, dict[tuple[str, str], list[str]]] = {}
    for each in left_out:
        by_cause.setdefault(each.cause, {}).setdefault((each.reason, each.hint), []).append(each.host)
    for cause, reasons in sorted(by_cause.items(), key=lambda item: -sum(map(len, item[1].values()))):
        yield f"  {cause}: {format_quantity(sum(map(len, reasons.values())), 'host')}"
        ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
        shown = ordered if page.verbose else ordered[:_REASONS]
        for (reason, hint), names in shown:
            yield from page.lines(f"{first_names(names, page)}: {reason}", first=_BELOW, rest=_BELOW + "  ")
            yield from page.advice(f"hint: {hint}", first=_BELOW + "  ", rest=_BELOW + "    ", style="dim")
        if len(ordered) > len(shown):
            yield f"{_BELOW}... and {len(ordered) - len(shown):,} more reasons: --verbose or --json"


def _render_artefact(artefact: FleetArtefact, page: Page) -> Iterator[str]:
    hosts = f": {format_quantity(len(artefact.hosts), 'host')}" if artefact.hosts else ""
    yield f"  {page.paint(artefact.id, 'bold')}  CPython {artefact.python}, {listing(artefact.levels)}{hosts}"
    if artefact.wheel is not None:
        yield f"{_BELOW}{artefact.wheel}"
    if artefact.reason:
        yield from page.lines(artefact.reason, first=_BELOW, rest=_BELOW + "  ", style="dim")
    if artefact.problem:
        yield from page.lines(f"no wheel: {artefact.problem}", first=_BELOW, rest=_BELOW + "  ", style="warning")
        yield from page.advice(f"hint: {artefact.hint}", first=_BELOW + "  ", rest=_BELOW + "    ")
    elif artefact.wheel is None and artefact.builder is not None:
        yield f"{_BELOW}built here with {artefact.builder}"


def _group_lines(fleet: Fleet, page: Page) -> Iterator[str]:
    head = ("hosts", "Python", "C library", "CPU", "runs", "takes", "")
    shown = fleet.groups if page.verbose else fleet.groups[:_GROUPS]
    rows = [
        (
            f"{len(group.hosts):,}",
            f"{group.python} ({group.abi})",
            f"{group.libc} {group.libc_version}",
            group.level,
            group.runs,
            group.artefact,
            first_names(group.hosts, page) if page.width is None or page.width >= _ROOM_FOR_NAMES else "",
        )
        for group in shown
    ]
    yield from replace(page, width=None).table(head, rows, right=(0,), margin=2)  # no width, so no row is wrapped
    if len(fleet.groups) > len(shown):
        rest = fleet.groups[len(shown) :]
        hosts = format_quantity(sum(len(group.hosts) for group in rest), "host")
        yield f"  ... and {len(rest)} more groups of {hosts}: --verbose or --json"


_FINDINGS = 15
_COLLECTED_REASONS = 2
_COLLECTED_BELOW = " " * 11


def render_collected(collected: Collected, page: Page) -> str:
    """Return the hosts by status, the findings that they share (gravest first), and the hosts without a report."""
    lines: list[str] = []
    for status, names in collected.hosts.items():
        named = "" if status == Status.OK else f"  {first_names(names, page)}"
        lines.append(f"{page.paint(f'{status:<8}', status)} {format_quantity(len(names), 'host')}{named}")
    shown = collected.findings if page.verbose else collected.findings[:_FINDINGS]
    if shown:
        lines.append("")
    for finding in shown:
        lines += _render_finding(finding, page)
    if len(collected.findings) > len(shown):
        lines.append(f"  ... and {len(collected.findings) - len(shown):,} more findings: --verbose or --json")
    if collected.unreported:
        lines += ["", *_render_unreported_hosts(collected, page)]
    lines.append(page.paint(f"{collected.status}: {collected.summary}", collected.status))
    return join_lines(lines)


def _render_finding(finding: SharedFinding, page: Page) -> Iterator[str]:
    told = f"{finding.check}: {finding.message}"
    yield from status_lines(finding.status, told, page, rest=_COLLECTED_BELOW)
    hosts = f"{format_quantity(len(finding.hosts), 'host')}: {first_names(finding.hosts, page)}"
    yield from page.lines(hosts, first=_COLLECTED_BELOW, rest=_COLLECTED_BELOW + "  ")
    if finding.remedy is not None:
        hint = f"hint: {finding.remedy.text}"
        yield from page.lines(hint, first=_COLLECTED_BELOW, rest=_COLLECTED_BELOW + "      ", style="dim")
        if finding.remedy.command:
            yield f"{_COLLECTED_BELOW}      {finding.remedy.command}"


def _render_unreported_hosts(collected: Collected, page: Page) -> Iterator[str]:
    silent = len({each.host for each in collected.unreported})
    yield page.paint(f"without a report: {format_quantity(silent, 'host')}", "warning")
    by_absence: dict[str, list[Unreported]] = {}
    for each in collected.unreported:
        by_absence.setdefault(each.absence, []).append(each)
    for absence, found in by_absence.items():
        names = tuple(dict.fromkeys(each.host for each in found))
        hosts = f"{format_quantity(len(names), 'host')}: {first_names(names, page)}"
        yield from page.lines(f"{absence}: {hosts}", first="  ", rest="    ")
        for each in found if page.verbose else found[:_COLLECTED_REASONS]:
            yield from page.lines(f"{each.host}: {each.reason}", first="    ", rest="      ", style="dim")
        yield from page.advice(f"hint: {found[0].hint}", first="    ", rest="      ")
