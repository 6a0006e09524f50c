"""A fleet plan as text that stays short whatever the number of hosts. The same value that --json prints."""

from collections.abc import Iterator, Sequence

from fastinstall.cli.page import Page, joined
from fastinstall.model.fleet import Fleet, FleetArtefact, LeftOut
from fastinstall.rules.fleet_words import counted
from fastinstall.rules.messages import listing

_NAMES = 3
_GROUPS = 12
_REASONS = 3
_BELOW = " " * 4


def fleet_text(fleet: Fleet, page: Page) -> str:
    """Artefacts, groups of hosts, and who is left out: counts and the first few names."""
    lines = [page.paint(fleet.summary, "bold")]
    for artefact in fleet.artefacts:
        lines += _artefact_lines(artefact, page)
    if fleet.groups:
        lines += ["", *_group_lines(fleet, page)]
    if fleet.left_out:
        lines += ["", *left_out_lines(fleet.left_out, page)]
    for note in fleet.notes:
        lines += page.lines(note, first="note: ", rest="  ")
    return joined(lines)


def first_names(names: Sequence[str], page: Page) -> str:
    """The first few names, and how many more there are; all of them with --verbose."""
    if page.verbose or len(names) <= _NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMES])} and {len(names) - _NAMES:,} more"


def left_out_lines(left_out: Sequence[LeftOut], page: Page) -> Iterator[str]:
    """Why hosts are left out, the most frequent cause first, with the first few reasons of each."""
    yield page.paint(f"left out: {counted(len(left_out), 'host')}", "warning")
    by_cause: dict[str, dict[tuple[str, str], list[str]]] = {}
    for each in left_out:
        by_cause.setdefault(each.cause, {}).setdefault((each.reason, each.hint), []).append(each.host)
    for cause, reasons in sorted(by_cause.items(), key=lambda item: -sum(map(len, item[1].values()))):
        yield f"  {cause}: {counted(sum(map(len, reasons.values())), 'host')}"
        ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
        shown = ordered if page.verbose else ordered[:_REASONS]
        for (reason, hint), names in shown:
            yield from page.lines(f"{first_names(names, page)}: {reason}", first=_BELOW, rest=_BELOW + "  ")
            yield from page.advice(f"hint: {hint}", first=_BELOW + "  ", rest=_BELOW + "    ", style="dim")
        if len(ordered) > len(shown):
            yield f"{_BELOW}... and {len(ordered) - len(shown):,} more reasons: --verbose or --json"


def _artefact_lines(artefact: FleetArtefact, page: Page) -> Iterator[str]:
    what = f"CPython {artefact.python}, {listing(artefact.levels)}: {counted(len(artefact.hosts), 'host')}"
    yield f"  {page.paint(artefact.id, 'bold')}  {what}"
    if artefact.wheel is not None:
        yield f"{_BELOW}{artefact.wheel}"
    yield from page.lines(artefact.reason, first=_BELOW, rest=_BELOW + "  ", style="dim")
    if artefact.problem:
        yield from page.lines(f"not here: {artefact.problem}", first=_BELOW, rest=_BELOW + "  ", style="warning")
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
            first_names(group.hosts, page),
        )
        for group in shown
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
    for row in (head, *rows):
        first = f"  {row[0]:>{widths[0]}}  "
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row[1:-1], widths[1:], strict=True))
        yield _fitting(f"{first}{cells}".rstrip(), row[-1], page)
    if len(fleet.groups) > len(shown):
        rest = fleet.groups[len(shown) :]
        hosts = counted(sum(len(group.hosts) for group in rest), "host")
        yield f"  ... and {len(rest)} more groups of {hosts}: --verbose or --json"


def _fitting(row: str, names: str, page: Page) -> str:
    """A row of the table, with the names behind it where there is room for them."""
    room = page.width is None or len(row) + 2 + len(names) <= page.width
    return f"{row}  {names}" if names and room else row
