"""Merge one file of a tree by the rules of a recipe, guards included, and say what stands against it."""

from collections.abc import Collection, Sequence

from fastinstall.errors import RefusedError
from fastinstall.merge.files import Outcome, merge_texts
from fastinstall.merge.guards import apply_guards
from fastinstall.merge.sources import Source
from fastinstall.merge.syntax import ParsedFile, parse_items, tokens
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import GuardedFunction
from fastinstall.model.merge import Origin


@immutable
class Trouble:
    """Why something of the fork cannot be merged.

    Attributes:
        file: where.
        item: name of the item; empty for the file as a whole.
        reason: why.
    """

    file: str
    item: str = ""
    reason: str


@immutable
class MergedFile:
    """One file, merged.

    Attributes:
        text: its content afterwards, or None if it does not exist.
        outcomes: item by item.
        guards: functions that choose between both at run time.
        unused: functions of guards that the merge did not touch.
        troubles: what stands against it; where there are any, the text is not to be used.
    """

    text: str | None
    outcomes: tuple[Outcome, ...] = ()
    guards: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    troubles: tuple[Trouble, ...] = ()

    @property
    def is_taken(self) -> bool:
        """Whether something of the fork is in it."""
        return any(outcome.is_taken for outcome in self.outcomes)


def merge_file(source: Source, guards: Sequence[GuardedFunction], keep: Collection[str]) -> MergedFile:
    """Merge one file.

    Args:
        source: its texts.
        guards: the rules for this file.
        keep: names of items that stay upstream's.
    """
    if source.base is None:
        return _added(source)
    if source.upstream is None:
        return _in_trouble(source, "upstream has no such file any more")
    merged = merge_texts(source.base, source.upstream, source.kernels, keep)
    troubles = tuple(
        Trouble(file=source.name, item=outcome.name, reason=f"{outcome.name}: {outcome.reason}")
        for outcome in merged.outcomes
        if outcome.origin is Origin.CONFLICT
    )
    file = MergedFile(text=merged.text, outcomes=merged.outcomes, troubles=troubles)
    return file if troubles or not guards else _guard(source, source.upstream, file, guards)


def as_upstream(source: Source, merged: MergedFile, reason: str) -> MergedFile:
    """The file as upstream has it, with what would have been merged named as left out.

    Args:
        source: its texts.
        merged: what the merge made of it.
        reason: why it is left out.
    """
    outcomes = tuple(
        outcome
        if outcome.origin in (Origin.CONFLICT, Origin.KEPT)
        else Outcome(kind=outcome.kind, name=outcome.name, origin=Origin.REVERTED, reason=reason)
        for outcome in merged.outcomes
    )
    return MergedFile(text=source.upstream, outcomes=outcomes)


def _added(source: Source) -> MergedFile:
    if source.upstream is not None and tokens(source.upstream) != tokens(source.kernels):
        return _in_trouble(source, "upstream and the fork brought it, each in its own way")
    if source.upstream is not None:
        return MergedFile(text=source.upstream)
    outcome = Outcome(kind="file", name=source.basename, origin=Origin.KERNELS, reason="only the fork has it")
    return MergedFile(text=source.kernels, outcomes=(outcome,))


def _in_trouble(source: Source, reason: str) -> MergedFile:
    outcome = Outcome(kind="file", name=source.basename, origin=Origin.CONFLICT, reason=reason)
    trouble = Trouble(file=source.name, reason=reason)
    return MergedFile(text=source.upstream, outcomes=(outcome,), troubles=(trouble,))


def _guard(source: Source, upstream: str, merged: MergedFile, rules: Sequence[GuardedFunction]) -> MergedFile:
    """Put the guards in; kernels that a rule would fence are not merged where it cannot."""
    known = parse_items(upstream)
    missing = [rule.function for rule in rules if not has_function(known, rule.function)]
    if missing and merged.is_taken:
        return _unguarded(source, merged, f"upstream has no {', '.join(missing)} that could be guarded")
    present = [rule for rule in rules if rule.function not in missing]
    try:
        guarded = apply_guards(upstream, merged.text or "", present)
    except RefusedError as error:
        return _unguarded(source, merged, error.message)
    return MergedFile(
        text=guarded.text,
        outcomes=merged.outcomes,
        guards=guarded.applied,
        unused=(*guarded.unused, *missing),
    )


def _unguarded(source: Source, merged: MergedFile, reason: str) -> MergedFile:
    trouble = Trouble(file=source.name, reason=reason)
    return MergedFile(text=merged.text, outcomes=merged.outcomes, troubles=(trouble,))


def has_function(file: ParsedFile, name: str) -> bool:
    """Whether a file defines a function of this name, or with a leading underscore more or less."""
    names = {item.key.name for item in file.items if item.key.kind == "function"}
    return not names.isdisjoint((name, f"_{name}", name.removeprefix("_")))
