"""Merge the changes of a fork into an unpacked source tree, and report what came from where.

Where upstream and the fork exclude each other, upstream's stays, and with it everything that belongs together with
what could not be merged: never a mixture that nobody wrote.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from fastinstall.errors import UsageError
from fastinstall.merge.components import LeftOut, dependants
from fastinstall.merge.merged import MergedFile, as_upstream, merge_file
from fastinstall.merge.report import Labels, make_report
from fastinstall.merge.sources import Source, label, read_sources, write_source
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import Kernels, Part
from fastinstall.model.merge import MergeReport


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
    left = LeftOut(rules.parts)
    for name in without:
        left.leave_part(_part(rules, name), "left out on request")
    sources = read_sources(trees.base, trees.target, trees.kernels)
    merged = _merge_until_stable(sources, rules, left)
    for source in sources:
        text = merged[source.name].text
        if text is not None and text != source.upstream:
            write_source(trees.target, source.name, text)
    labels = Labels(base=label(trees.base), upstream=label(trees.target), kernels=label(trees.kernels))
    return make_report(labels, merged, sources, rules, left)


def _part(rules: Kernels, name: str) -> Part:
    for part in rules.parts:
        if part.name == name:
            return part
    known = ", ".join(part.name for part in rules.parts) or "none"
    raise UsageError(f"{rules.pypi} has no part {name!r}", hint=f"its parts: {known}")


def _merge_until_stable(sources: Sequence[Source], rules: Kernels, left: LeftOut) -> dict[str, MergedFile]:
    """Merge, leave out what cannot be merged and what builds on it, and merge the rest again."""
    while True:
        merged = {source.name: _merge(source, rules, left) for source in sources}
        troubles = [trouble for file in merged.values() for trouble in file.troubles]
        troubles += dependants(sources, merged, left)
        for trouble in troubles:
            left.leave(trouble)
        if not troubles:
            return merged


def _merge(source: Source, rules: Kernels, left: LeftOut) -> MergedFile:
    keep = {name for kept in rules.keep if kept.file == source.name for name in kept.items}
    if source.name in left.files:
        return as_upstream(source, merge_file(source, (), keep), left.files[source.name])
    guards = [guard for guard in rules.guards if guard.file == source.name]
    return merge_file(source, guards, keep | left.items_of(source.name).keys())
