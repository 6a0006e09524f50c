"""What a merge did, in lines for people."""

from collections.abc import Iterator
from itertools import groupby

from fastinstall.model.merge import MergedItem, MergeReport, Origin

_ORIGINS = {
    Origin.UPSTREAM: "upstream's",
    Origin.KERNELS: "the fork's",
    Origin.MERGED: "merged",
    Origin.CANONICAL: "merged in canonical form",
    Origin.KEPT: "upstream's, by a rule",
    Origin.REVERTED: "upstream's, left out",
    Origin.CONFLICT: "upstream's, not merged",
}


def explain(report: MergeReport) -> tuple[str, ...]:
    """Say for each file, item by item, what came from where and why, and what is not accelerated.

    Args:
        report: of a merge.

    Returns:
        Lines without ends; those of a section are indented below its heading.
    """
    return tuple(_lines(report))


def _lines(report: MergeReport) -> Iterator[str]:
    yield f"{report.kernels} merged onto {report.upstream}; both come from {report.base}"
    inside = [item for item in report.items if item.file not in report.new_files]
    yield _totals(inside, report.files)
    for file, items in groupby(sorted(inside, key=lambda item: item.file), key=lambda item: item.file):
        yield file
        yield from _table(list(items))
    yield from _section("files of the fork's own", report.new_files)
    yield from _section("chosen at run time, by a condition of the recipe", report.guards)
    left_out = tuple(f"{each.what}: {each.reason}" for each in report.not_accelerated)
    yield from _section("not accelerated", left_out)
    yield from _section("rules that found nothing to act on", report.unused_rules)


def _totals(items: list[MergedItem], files: tuple[str, ...]) -> str:
    counts = [(sum(item.origin is origin for item in items), name) for origin, name in _ORIGINS.items()]
    parts = ", ".join(f"{count} {name}" for count, name in counts if count)
    return f"{_counted(len(items), 'definition')} in {_counted(len(files), 'file')}: {parts or 'none'}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _table(items: list[MergedItem]) -> Iterator[str]:
    names = max(len(f"{item.kind} {item.name}") for item in items)
    origins = max(len(_ORIGINS[item.origin]) for item in items)
    for item in items:
        named = f"{item.kind} {item.name}"
        yield f"  {named:<{names}}  {_ORIGINS[item.origin]:<{origins}}  {item.reason}".rstrip()


def _section(heading: str, entries: tuple[str, ...]) -> Iterator[str]:
    if entries:
        yield f"{heading}:"
        yield from (f"  {entry}" for entry in entries)
