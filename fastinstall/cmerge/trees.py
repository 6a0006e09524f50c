"""Merge the changes of a fork into an unpacked source tree, and report what came from where.

If upstream and the fork conflict, upstream's text stays, and with it everything that belongs together with what could
not be merged (a part of the fork or a file, and what builds on it): never a mixture that nobody wrote.

The report is also put into lines for people.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from fastinstall.cmerge.declarations import find_used_names, list_item_definitions
from fastinstall.cmerge.documents import Kernels, MergedItem, MergeReport, NotAccelerated, Part, TextOrigin
from fastinstall.cmerge.file_merge import ItemOutcome
from fastinstall.cmerge.merged import (
    ForkFile,
    MergedFile,
    MergeProblem,
    keep_upstream_file,
    label,
    merge_file,
    read_sources,
)
from fastinstall.cmerge.syntax import Item, parse_items
from fastinstall.core import files
from fastinstall.core.errors import UsageError
from fastinstall.core.values import immutable

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"(?:[^"\n]*/)?([^"/\n]+)"', re.MULTILINE)


@dataclass(slots=True)
class ExcludedItems:
    """What stays upstream's; it only grows.

    Attributes:
        parts: those that the recipe declares.
        files: reasons by file.
        items: reasons by file and item.
        named: reasons by what a person is told: a part or a file.
    """

    parts: Sequence[Part]
    files: dict[str, str] = field(default_factory=dict)
    items: dict[tuple[str, str], str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)

    def leave_part(self, part: Part, reason: str) -> None:
        """Leave a part out, and every other part that has something in its files."""
        if part.name in self.named:
            return
        self.named[part.name] = reason
        for item in part.items:
            file, _, name = item.partition(": ")
            self.items.setdefault((file, name), reason)
        for file in part.files:
            self._leave_file(file, reason)

    def leave(self, trouble: MergeProblem) -> None:
        """Leave out what a trouble is in: its part if there is one, else its file."""
        name = f"{trouble.file}: {trouble.item}"
        parts = [part for part in self.parts if trouble.file in part.files or name in part.items]
        parts = [part for part in parts if part.name not in self.named]
        for part in parts:
            self.leave_part(part, trouble.reason)
        if not parts and trouble.file not in self.files:
            self.named[trouble.file] = trouble.reason
            self._leave_file(trouble.file, trouble.reason)

    def items_of(self, file: str) -> dict[str, str]:
        """Reasons by item, of one file."""
        return {name: reason for (where, name), reason in self.items.items() if where == file}

    def _leave_file(self, file: str, reason: str) -> None:
        self.files.setdefault(file, reason)
        for part in self.parts:
            if file in (*part.files, *(item.partition(": ")[0] for item in part.items)):
                self.leave_part(part, reason)


def _find_dependants(
    sources: Sequence[ForkFile], merged: Mapping[str, MergedFile], left: ExcludedItems
) -> Iterator[MergeProblem]:
    """Files that use something that was left out."""
    lost = {
        name: source.name for source in sources if source.name in left.files for name in _list_exported_names(source)
    }
    brought = {source.basename: source.kernels for source in sources if source.base is None}
    for source in sources:
        file = merged[source.name]
        if source.name in left.files or source.base is None or not file.is_taken:
            continue
        missing = sorted(_list_used_names(source, file, brought) & lost.keys())
        if missing:
            reason = f"it uses {missing[0]} of {lost[missing[0]]}, which is left out"
            yield MergeProblem(file=source.name, reason=reason)


def _list_exported_names(source: ForkFile) -> Iterator[str]:
    """Names that other files may take from the fork's version of a file, and that upstream's has not, or otherwise."""
    if source.upstream is None:
        yield source.basename
    known = {item.key: _get_visible_tokens(item) for item in parse_items(source.upstream or "").items}
    header = source.name.endswith(".h")
    for item in parse_items(source.kernels).items:
        if known.get(item.key) != _get_visible_tokens(item) and (header or _is_public(item)):
            yield from list_item_definitions(item)


def _get_visible_tokens(item: Item) -> tuple[str, ...]:
    """What users of an item see: of a function all but its body."""
    if item.key.kind != "function" or not item.node.children:
        return item.signature
    return tuple(token for child in item.node.children[:-1] for token in child.signature)


def _is_public(item: Item) -> bool:
    return item.key.kind in ("function", "declaration") and "static" not in _get_visible_tokens(item)


def _list_used_names(source: ForkFile, merged: MergedFile, brought: Mapping[str, str]) -> set[str]:
    """Names in the items that something of the fork is in, and in the files of the fork that it includes."""
    taken = {(outcome.kind, outcome.name) for outcome in merged.outcomes if outcome.is_taken}
    items = parse_items(merged.text or "").items
    text = "\n".join(item.text for item in items if (item.key.kind, item.key.name) in taken)
    included = _list_included_files(merged.text or "", brought, {source.basename})
    return set(find_used_names("\n".join((text, *(brought[name] for name in included))))) | included


def _list_included_files(text: str, brought: Mapping[str, str], seen: set[str]) -> set[str]:
    found: set[str] = set()
    for name in _INCLUDE.findall(text):
        if name in brought and name not in seen:
            found |= {name} | _list_included_files(brought[name], brought, seen | found | {name})
    return found


@immutable
class Trees:
    """Unpacked sdists.

    Attributes:
        base: top directory of what the fork follows.
        kernels: top directory of the fork.
        target: top directory of upstream's source; its files are changed in place.
    """

    base: Path
    kernels: Path
    target: Path


def merge_trees(trees: Trees, rules: Kernels, *, without: Collection[str] = ()) -> MergeReport:
    """Merge the fork's changes to C files into the target.

    Args:
        trees: the three sources.
        rules: what is kept, what is guarded, and what belongs together.
        without: names of parts that stay upstream's.

    Raises:
        UsageError: there is no such part.
        OSError: a file cannot be read or written.
    """
    left, parts = ExcludedItems(rules.parts), {part.name: part for part in rules.parts}
    for name in without:
        if name not in parts:
            raise UsageError(f"{rules.pypi} has no part {name!r}", hint=f"its parts: {', '.join(parts) or 'none'}")
        left.leave_part(parts[name], "left out on request")
    sources = read_sources(trees.base, trees.target, trees.kernels)
    merged = _merge_until_stable(sources, rules, left)
    for source in sources:
        text = merged[source.name].text
        if text is not None and text != source.upstream:
            files.write_bytes(trees.target / source.name, text.encode("utf-8", "surrogateescape"))
    return _make_report(trees, merged, sources, rules, left)


def _merge_until_stable(sources: Sequence[ForkFile], rules: Kernels, left: ExcludedItems) -> dict[str, MergedFile]:
    """Merge, leave out what cannot be merged and what builds on it, and merge the rest again."""
    while True:
        merged = {source.name: _merge(source, rules, left) for source in sources}
        troubles = [trouble for file in merged.values() for trouble in file.troubles]
        troubles += _find_dependants(sources, merged, left)
        if not troubles:
            return merged
        for trouble in troubles:
            left.leave(trouble)


def _merge(source: ForkFile, rules: Kernels, left: ExcludedItems) -> MergedFile:
    keep = {name for kept in rules.keep if kept.file == source.name for name in kept.items}
    if source.name in left.files:
        return keep_upstream_file(source, merge_file(source, (), keep), left.files[source.name])
    guards = [guard for guard in rules.guards if guard.file == source.name]
    return merge_file(source, guards, keep | left.items_of(source.name).keys())


def _make_report(
    trees: Trees, merged: Mapping[str, MergedFile], sources: Sequence[ForkFile], rules: Kernels, left: ExcludedItems
) -> MergeReport:
    changed = [source for source in sources if merged[source.name].text not in (None, source.upstream)]
    return MergeReport(
        base=label(trees.base),
        upstream=label(trees.target),
        kernels=label(trees.kernels),
        items=tuple(
            _make_item(source.name, outcome, rules, left)
            for source in sources
            for outcome in merged[source.name].outcomes
        ),
        files=tuple(source.name for source in changed if source.upstream is not None),
        new_files=tuple(source.name for source in changed if source.upstream is None),
        guards=tuple(f"{source.name}: {name}" for source in sources for name in merged[source.name].guards),
        not_accelerated=tuple(NotAccelerated(what=what, reason=reason) for what, reason in left.named.items()),
        unused_rules=tuple(_find_unused_rules(merged, sources, rules, left)),
    )


def _make_item(file: str, outcome: ItemOutcome, rules: Kernels, left: ExcludedItems) -> MergedItem:
    origin, reason = outcome.origin, outcome.reason
    if origin is TextOrigin.KEPT:
        reasons = [kept.reason for kept in rules.keep if kept.file == file and outcome.name in kept.items]
        reason = next(iter(reasons), reason)
        if not reasons:
            origin, reason = TextOrigin.REVERTED, left.items_of(file).get(outcome.name, reason)
    return MergedItem(file=file, kind=outcome.kind, name=outcome.name, origin=origin, reason=reason)


def _find_unused_rules(
    merged: Mapping[str, MergedFile], sources: Sequence[ForkFile], rules: Kernels, left: ExcludedItems
) -> Iterator[str]:
    known = {source.name: source for source in sources}
    for kept in rules.keep:
        outcomes = merged[kept.file].outcomes if kept.file in merged else ()
        applied = {outcome.name for outcome in outcomes if outcome.origin is TextOrigin.KEPT}
        for name in (name for name in kept.items if name not in applied):
            yield f"keep {kept.file}: {name}: the fork does not change it, or upstream no longer has it"
    for guard in rules.guards:
        names = {guard.function, f"_{guard.function}", guard.function.removeprefix("_")}
        if guard.file not in known:
            yield f"guard {guard.file}: {guard.function}: the fork does not change this file"
        elif guard.file in left.files:
            yield f"guard {guard.file}: {guard.function}: the file is left as upstream has it"
        elif not names.isdisjoint(merged[guard.file].unused):
            yield f"guard {guard.file}: {guard.function}: the merge does not touch it"
    for part in rules.parts:
        for what in (*part.files, *part.items):
            file, _, name = what.partition(": ")
            items = parse_items(known[file].kernels).items if name and file in known else ()
            if file not in known or (name and name not in {item.key.name for item in items}):
                yield f"part {part.name}: {what}: the fork does not change it, or no longer has it"


_ORIGINS = {
    TextOrigin.UPSTREAM: "upstream's",
    TextOrigin.KERNELS: "the fork's",
    TextOrigin.MERGED: "merged",
    TextOrigin.CANONICAL: "merged in canonical form",
    TextOrigin.KEPT: "upstream's, by a rule",
    TextOrigin.REVERTED: "upstream's, left out",
    TextOrigin.CONFLICT: "upstream's, not merged",
}


def explain(report: MergeReport) -> tuple[str, ...]:
    """Say for each file, item by item, what came from where and why, and what is not accelerated.

    Args:
        report: of a merge.

    Returns:
        Lines without ends; those of a section are indented below its heading.
    """
    return tuple(_render_report(report))


def _render_report(report: MergeReport) -> Iterator[str]:
    yield f"{report.kernels} merged onto {report.upstream}; both come from {report.base}"
    inside = [item for item in report.items if item.file not in report.new_files]
    counts = Counter(item.origin for item in inside)
    parts = ", ".join(f"{counts[origin]} {name}" for origin, name in _ORIGINS.items() if counts[origin])
    numbers = (_format_count(len(inside), "definition"), _format_count(len(report.files), "file"))
    yield f"{' in '.join(numbers)}: {parts or 'none'}"
    for file, items in groupby(sorted(inside, key=lambda item: item.file), key=lambda item: item.file):
        yield file
        yield from _render_table(list(items))
    sections = {
        "files only the fork has": report.new_files,
        "chosen at run time, by a condition of the recipe": report.guards,
        "not accelerated": tuple(f"{each.what}: {each.reason}" for each in report.not_accelerated),
        "rules that matched nothing": report.unused_rules,
    }
    for heading, entries in sections.items():
        if entries:
            yield f"{heading}:"
            yield from (f"  {entry}" for entry in entries)


def _format_count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _render_table(items: list[MergedItem]) -> Iterator[str]:
    rows = [(f"{item.kind} {item.name}", _ORIGINS[item.origin], item.reason) for item in items]
    names, origins = (max(len(row[column]) for row in rows) for column in (0, 1))
    yield from (f"  {name:<{names}}  {origin:<{origins}}  {reason}".rstrip() for name, origin, reason in rows)
