"""Functions that upstream defines and calls, and that a merged source calls without defining them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from fastinstall.merge.definitions import function_definitions, function_name
from fastinstall.merge.guards import KERNEL_SUFFIX
from fastinstall.merge.lexer import tokens
from fastinstall.merge.nodes import DIRECTIVE
from fastinstall.merge.retained import SUFFIX
from fastinstall.merge.syntax import ATOMIC, Item, parse_items

_MACRO = re.compile(r"#\s*define\s+(\w+)\(")
_INCLUDED = re.compile(r'^#\s*include\s+"([^"]+)"', re.MULTILINE)
_SOURCES = ("*.c", "*.h")

Texts = Mapping[str, tuple[str, str]]


def lost_functions(merged: Path, texts: Texts) -> tuple[str, ...]:
    """Calls of what is no longer there.

    Args:
        merged: top directory of the merged source.
        texts: of every file that the merge changed or brought: upstream's text, and the merged one.

    Returns:
        One sentence for each function and file that calls it; empty if nothing is lost.
    """
    gone = {file: _callables(ours) - _callables(theirs) for file, (ours, theirs) in texts.items()}
    return (*_lost_at_home(merged, texts, gone), *_lost_elsewhere(merged, gone), *_lost_copies(texts))


def _lost_at_home(merged: Path, texts: Texts, gone: Mapping[str, set[str]]) -> Iterator[str]:
    """Calls from the file that had the function: nothing that it includes has it, and no other file shares it."""
    for file, names in gone.items():
        called = names & _called(texts[file][1])
        if called:
            shared = {name for _, text in texts.values() for name in _callables(text, shared_only=True)}
            for name in sorted(called - shared - _included(merged / file, set())):
                yield f"{file}: calls {name}, which is lost: upstream defines it there"


def _lost_elsewhere(merged: Path, gone: Mapping[str, set[str]]) -> Iterator[str]:
    """Calls from other files of functions that are defined nowhere any more."""
    homes = {name: file for file, names in gone.items() for name in sorted(names)}
    sources = dict(_mentioning(merged, homes)) if homes else {}
    present = {name for text in sources.values() for name in _callables(text, shared_only=True)}
    for file, text in sources.items():
        here = merged / file
        for name in sorted(_called(text) & set(homes) - present):
            if homes[name] != file and name not in _included(here, set()):
                yield f"{file}: calls {name}, which is lost: upstream defines it in {homes[name]}"


def _mentioning(merged: Path, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The sources of a tree that mention one of some names as if they called it, with their texts."""
    suspects = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\s*\(")
    for path in sorted(path for pattern in _SOURCES for path in merged.rglob(pattern)):
        text = _read(path)
        if suspects.search(text):
            yield path.relative_to(merged).as_posix(), text


def _lost_copies(texts: Texts) -> Iterator[str]:
    """Second forms of functions, which a dispatcher or each other call, that are not there."""
    for file, (_, text) in texts.items():
        copies = {name for name in _called(text) if name.endswith((SUFFIX, KERNEL_SUFFIX))}
        for name in sorted(copies - _callables(text)):
            yield f"{file}: calls {name}, which is lost: a guard needs it"


def _included(file: Path, seen: set[Path]) -> set[str]:
    """What a file and those that it includes from beside it define."""
    if file in seen or not file.is_file():
        return set()
    seen.add(file)
    text = _read(file)
    further = (_included(file.parent / name, seen) for name in _INCLUDED.findall(text))
    return _callables(text).union(*further)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape")


def _callables(source: str, *, shared_only: bool = False) -> set[str]:
    """Functions and macros with parameters that a source defines.

    Args:
        source: C.
        shared_only: only what another file can call without including this one.
    """
    return {name for item in parse_items(source).items for name in _defined(item, shared_only=shared_only)}


def _defined(item: Item, *, shared_only: bool) -> Iterator[str]:
    if item.node.type == ATOMIC and item.key.kind == "function":
        yield item.key.name
    for function in function_definitions(item.node):
        if not shared_only or "static" not in function.signature[:4]:
            yield function_name(function)
    if not shared_only:
        for node in item.node.walk():
            if node.type == DIRECTIVE:
                yield from _MACRO.findall(node.text or "")


def _called(source: str) -> set[str]:
    """Names that are called, in functions and in macros."""
    return {name for item in parse_items(source).items for name in _calls(item)}


def _calls(item: Item) -> Iterator[str]:
    if item.node.type == ATOMIC:
        yield from _before_parentheses(item.signature)
    for node in item.node.walk():
        if node.type == "call_expression" and node.children:
            yield node.children[0].text or ""
        elif node.type == DIRECTIVE:
            yield from _before_parentheses(tokens(node.text or "")[2:])


def _before_parentheses(words: tuple[str, ...]) -> Iterator[str]:
    return (before for before, after in pairwise(words) if after == "(")
