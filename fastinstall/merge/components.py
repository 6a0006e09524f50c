"""What has to be left out together: a part of the fork, or a file, and what builds on it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fastinstall.merge.definitions import defined_names, used_names
from fastinstall.merge.merged import MergedFile, Trouble
from fastinstall.merge.sources import Source
from fastinstall.merge.syntax import Item, parse_items
from fastinstall.model.kernels import Part

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"(?:[^"\n]*/)?([^"/\n]+)"', re.MULTILINE)


@dataclass(slots=True)
class LeftOut:
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

    def leave(self, trouble: Trouble) -> None:
        """Leave out what a trouble is in: its part if there is one, else its file."""
        parts = [part for part in self.parts if _holds(part, trouble) and part.name not in self.named]
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


def dependants(sources: Sequence[Source], merged: Mapping[str, MergedFile], left: LeftOut) -> Iterator[Trouble]:
    """Files that use something that was left out.

    Args:
        sources: all that the fork changed or brought.
        merged: what is made of them.
        left: what is left out.
    """
    lost = {name: source.name for source in sources if source.name in left.files for name in _exported(source)}
    brought = {source.basename: source.kernels for source in sources if source.base is None}
    for source in sources:
        file = merged[source.name]
        if source.name in left.files or source.base is None or not file.is_taken:
            continue
        missing = sorted(_used(source, file, brought) & lost.keys())
        if missing:
            name = missing[0]
            yield Trouble(file=source.name, reason=f"it uses {name} of {lost[name]}, which is left out")


def _holds(part: Part, trouble: Trouble) -> bool:
    return trouble.file in part.files or f"{trouble.file}: {trouble.item}" in part.items


def _exported(source: Source) -> Iterator[str]:
    """Names that other files may take from the fork's version of a file, and that upstream's has not, or otherwise."""
    if source.upstream is None:
        yield source.basename
    known = {item.key: _face(item) for item in parse_items(source.upstream or "").items}
    header = source.name.endswith(".h")
    for item in parse_items(source.kernels).items:
        if known.get(item.key) != _face(item) and (header or _is_public(item)):
            yield from defined_names(item)


def _face(item: Item) -> tuple[str, ...]:
    """What users of an item see: of a function all but its body."""
    if item.key.kind != "function" or not item.node.children:
        return item.signature
    return tuple(token for child in item.node.children[:-1] for token in child.signature)


def _is_public(item: Item) -> bool:
    return item.key.kind in ("function", "declaration") and "static" not in _face(item)


def _used(source: Source, merged: MergedFile, brought: Mapping[str, str]) -> set[str]:
    """Names in the items that something of the fork is in, and in the files of the fork that it includes."""
    taken = {(outcome.kind, outcome.name) for outcome in merged.outcomes if outcome.is_taken}
    items = parse_items(merged.text or "").items
    text = "\n".join(item.text for item in items if (item.key.kind, item.key.name) in taken)
    included = _included(merged.text or "", brought, {source.basename})
    return set(used_names("\n".join((text, *(brought[name] for name in included))))) | included


def _included(text: str, brought: Mapping[str, str], seen: set[str]) -> set[str]:
    found: set[str] = set()
    for name in _INCLUDE.findall(text):
        if name in brought and name not in seen:
            found |= {name} | _included(brought[name], brought, seen | found | {name})
    return found
