"""The report of a merge, from what became of every file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fastinstall.merge.components import LeftOut
from fastinstall.merge.files import Outcome
from fastinstall.merge.merged import MergedFile
from fastinstall.merge.sources import Source
from fastinstall.merge.syntax import parse_items
from fastinstall.model.kernels import Kernels
from fastinstall.model.merge import MergedItem, MergeReport, NotAccelerated, Origin


class Labels(NamedTuple):
    """Names and versions of the three sources."""

    base: str
    upstream: str
    kernels: str


def make_report(
    labels: Labels, merged: Mapping[str, MergedFile], sources: Sequence[Source], rules: Kernels, left: LeftOut
) -> MergeReport:
    """Say what a merge did.

    Args:
        labels: what was merged.
        merged: what became of each file, by name.
        sources: the files, in the order of their names.
        rules: of the recipe.
        left: what was left out.
    """
    changed = [source for source in sources if merged[source.name].text not in (None, source.upstream)]
    return MergeReport(
        base=labels.base,
        upstream=labels.upstream,
        kernels=labels.kernels,
        items=tuple(
            _item(source.name, outcome, rules, left) for source in sources for outcome in merged[source.name].outcomes
        ),
        files=tuple(source.name for source in changed if source.upstream is not None),
        new_files=tuple(source.name for source in changed if source.upstream is None),
        guards=tuple(f"{source.name}: {name}" for source in sources for name in merged[source.name].guards),
        not_accelerated=tuple(NotAccelerated(what=what, reason=reason) for what, reason in left.named.items()),
        unused_rules=tuple(_unused(merged, sources, rules, left)),
    )


def _item(file: str, outcome: Outcome, rules: Kernels, left: LeftOut) -> MergedItem:
    origin, reason = outcome.origin, outcome.reason
    if origin is Origin.KEPT:
        reasons = [kept.reason for kept in rules.keep if kept.file == file and outcome.name in kept.items]
        reason = next(iter(reasons), reason)
        if not reasons:
            origin, reason = Origin.REVERTED, left.items_of(file).get(outcome.name, reason)
    return MergedItem(file=file, kind=outcome.kind, name=outcome.name, origin=origin, reason=reason)


def _unused(
    merged: Mapping[str, MergedFile], sources: Sequence[Source], rules: Kernels, left: LeftOut
) -> Iterator[str]:
    known = {source.name: source for source in sources}
    for kept in rules.keep:
        applied = {outcome.name for outcome in _outcomes(merged, kept.file) if outcome.origin is Origin.KEPT}
        for name in kept.items:
            if name not in applied:
                yield f"keep {kept.file}: {name}: the fork does not change it, or upstream has it no more"
    for guard in rules.guards:
        if guard.file not in known:
            yield f"guard {guard.file}: {guard.function}: the fork does not change this file"
        elif guard.file in left.files:
            yield f"guard {guard.file}: {guard.function}: the file is left as upstream has it"
        elif _is_unused(guard.function, merged[guard.file].unused):
            yield f"guard {guard.file}: {guard.function}: the merge does not touch it"
    for part in rules.parts:
        for what in (*(file for file in part.files if file not in known), *_missing(part.items, known)):
            yield f"part {part.name}: {what}: the fork does not change it, or has it no more"


def _outcomes(merged: Mapping[str, MergedFile], file: str) -> Sequence[Outcome]:
    return merged[file].outcomes if file in merged else ()


def _is_unused(function: str, unused: Sequence[str]) -> bool:
    return not {function, f"_{function}", function.removeprefix("_")}.isdisjoint(unused)


def _missing(items: Sequence[str], known: Mapping[str, Source]) -> Iterator[str]:
    for item in items:
        file, _, name = item.partition(": ")
        source = known.get(file)
        if source is None or name not in {each.key.name for each in parse_items(source.kernels).items}:
            yield item
