"""Merge one file of a tree by the rules of a recipe, guards included, and report problems.

The C files that a fork changed or added are read from three source trees. Only what lies below src/ is looked at:
setup.py, pyproject.toml and the package's Python files stay upstream's.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.cmerge.documents import GuardedFunction, TextOrigin
from fastinstall.cmerge.file_merge import ItemOutcome, merge_texts
from fastinstall.cmerge.runtime_guards import apply_guards, find_function
from fastinstall.cmerge.syntax import parse_items, tokens
from fastinstall.core.errors import RefusedError
from fastinstall.core.values import immutable

_DIRECTORY = "src"
_HEADER = re.compile(r"^(Name|Version):\s*(\S+)\s*$", re.MULTILINE)


@immutable
class ForkFile:
    """One file that the fork changed or brought.

    Attributes:
        name: relative to the top directories, with slashes.
        base: its text before both changes, or None if it did not exist.
        upstream: its text in the tree merged into, or None if it does not exist.
        kernels: in the fork.
    """

    name: str
    base: str | None
    upstream: str | None
    kernels: str

    @property
    def basename(self) -> str:
        """Its name without directories."""
        return self.name.rpartition("/")[2]


def read_sources(base: Path, upstream: Path, kernels: Path) -> tuple[ForkFile, ...]:
    """What the fork changed or brought, by name.

    Args:
        base: top directory of what both started from.
        upstream: top directory of what is merged into.
        kernels: top directory of the fork.

    Raises:
        OSError: a file cannot be read.
    """
    found = []
    for path in sorted((kernels / _DIRECTORY).rglob("*.[ch]")):
        name = path.relative_to(kernels).as_posix()
        if (
            ".egg-info" not in name
            and (text := _read_text(path)) is not None
            and text != (old := _read_text(base / name))
        ):
            found.append(ForkFile(name=name, base=old, upstream=_read_text(upstream / name), kernels=text))
    return tuple(found)


def label(tree: Path) -> str:
    """Name and version of an unpacked sdist ("pillow 13.0.0"), or the directory's name where it does not say."""
    information = _read_text(tree / "PKG-INFO")
    found = dict(_HEADER.findall((information or "").partition("\n\n")[0]))
    if "Name" in found and "Version" in found:
        return f"{found['Name'].lower()} {found['Version']}"
    return tree.name


def _read_text(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "surrogateescape") if path.is_file() else None


@immutable
class MergeProblem:
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
    outcomes: tuple[ItemOutcome, ...] = ()
    guards: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    troubles: tuple[MergeProblem, ...] = ()

    @property
    def is_taken(self) -> bool:
        """Whether something of the fork is in it."""
        return any(outcome.is_taken for outcome in self.outcomes)


def merge_file(source: ForkFile, guards: Sequence[GuardedFunction], keep: Collection[str]) -> MergedFile:
    """Merge one file.

    Args:
        source: its texts.
        guards: the rules for this file.
        keep: names of items that stay upstream's.
    """
    if source.base is None:
        return _add_file(source)
    if source.upstream is None:
        return _report_problem(source, "upstream no longer has this file")
    merged = merge_texts(source.base, source.upstream, source.kernels, keep)
    troubles = tuple(
        MergeProblem(file=source.name, item=outcome.name, reason=f"{outcome.name}: {outcome.reason}")
        for outcome in merged.outcomes
        if outcome.origin is TextOrigin.CONFLICT
    )
    file = MergedFile(text=merged.text, outcomes=merged.outcomes, troubles=troubles)
    return file if troubles or not guards else _guard(source, source.upstream, file, guards)


def keep_upstream_file(source: ForkFile, merged: MergedFile, reason: str) -> MergedFile:
    """The file as upstream has it, with what would have been merged named as left out.

    Args:
        source: its texts.
        merged: what the merge made of it.
        reason: why it is left out.
    """
    outcomes = tuple(
        outcome
        if outcome.origin in (TextOrigin.CONFLICT, TextOrigin.KEPT)
        else ItemOutcome(kind=outcome.kind, name=outcome.name, origin=TextOrigin.REVERTED, reason=reason)
        for outcome in merged.outcomes
    )
    return MergedFile(text=source.upstream, outcomes=outcomes)


def _add_file(source: ForkFile) -> MergedFile:
    if source.upstream is not None and tokens(source.upstream) != tokens(source.kernels):
        return _report_problem(source, "upstream and the fork added different versions of it")
    if source.upstream is not None:
        return MergedFile(text=source.upstream)
    outcome = ItemOutcome(kind="file", name=source.basename, origin=TextOrigin.KERNELS, reason="only the fork has it")
    return MergedFile(text=source.kernels, outcomes=(outcome,))


def _report_problem(source: ForkFile, reason: str) -> MergedFile:
    outcome = ItemOutcome(kind="file", name=source.basename, origin=TextOrigin.CONFLICT, reason=reason)
    trouble = MergeProblem(file=source.name, reason=reason)
    return MergedFile(text=source.upstream, outcomes=(outcome,), troubles=(trouble,))


def _guard(source: ForkFile, upstream: str, merged: MergedFile, rules: Sequence[GuardedFunction]) -> MergedFile:
    """Put the guards in; kernels that a rule would fence are not merged where it cannot."""
    known = parse_items(upstream)
    missing = [rule.function for rule in rules if find_function(rule.function, known) is None]
    if missing and merged.is_taken:
        reason = f"upstream has no {', '.join(missing)} to guard"
        return replace(merged, troubles=(MergeProblem(file=source.name, reason=reason),))
    present = [rule for rule in rules if rule.function not in missing]
    try:
        guarded = apply_guards(upstream, merged.text or "", present)
    except RefusedError as error:
        return replace(merged, troubles=(MergeProblem(file=source.name, reason=error.message),))
    return replace(merged, text=guarded.text, guards=guarded.applied, unused=(*guarded.unused, *missing))
