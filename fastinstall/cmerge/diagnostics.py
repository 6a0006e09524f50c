"""Find what is wrong with a merged source without compiling it.

Locks and the like must be taken and released in each function as upstream does it; in functions of the fork's own,
evenly on every path. No function that upstream defines and calls may be lost, and no conflict marker may remain. On
most builds the macros of locks are empty, so no test of the built core would show that one is missing.

Paths are checked by an abstract run over the syntax: its state is the set of numbers of openings that are possible at a
place. Loops run twice, conditions may go either way, and so may `#if`. Macros are not expanded.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from fastinstall.cmerge.declarations import function_definitions, function_name
from fastinstall.cmerge.runtime_guards import KERNEL_SUFFIX, SUFFIX
from fastinstall.cmerge.syntax import ATOMIC, BLOCKS, DIRECTIVE, Item, SyntaxNode, parse_items, tokens
from fastinstall.core.values import immutable

_ALTERNATIVES = BLOCKS - {"preproc_if", "preproc_ifdef"}
_LOOPS = ("for_statement", "while_statement", "do_statement")
_SEQUENCES = ("compound_statement", "function_definition", "labeled_statement", "else_clause", "preproc_else")
_MOST = 8  # openings, beyond which the number does not matter

_State = frozenset[int]
_NOWHERE: _State = frozenset()


@immutable
class ScopeOpenings:
    """What a function may do with something that is opened and closed.

    Attributes:
        left: numbers of openings that may be open when it is left: {0} where every path closes all that it opens, and
            nothing else; empty if it never returns.
        lowest: the smallest number that is possible anywhere: negative where something is closed before it is open.
    """

    left: frozenset[int]
    lowest: int


def openings(function: SyntaxNode, opens: str, closes: str) -> ScopeOpenings:
    """Run through a function.

    Args:
        function: its definition.
        opens: name of the macro or function that opens ("MUTEX_LOCK").
        closes: name of its counterpart.
    """
    run = _Run(opens=opens, closes=closes)
    end = run.through(function, frozenset((0,)))
    return ScopeOpenings(left=frozenset(run.left | end), lowest=run.lowest)


@dataclass(slots=True, kw_only=True)
class _Run:
    """A run through one function: what was left at its returns, and what jumps bring to labels and ends of loops."""

    opens: str
    closes: str
    lowest: int = 0
    left: set[int] = field(default_factory=set)
    broken: list[set[int]] = field(default_factory=list)
    jumps: dict[str, set[int]] = field(default_factory=dict)

    def through(self, node: SyntaxNode, state: _State) -> _State:
        """The state behind a node, from that before it."""
        match node.type:
            case "return_statement":
                self.left |= self._count_calls(node, state)
                return _NOWHERE
            case "break_statement":
                if self.broken:
                    self.broken[-1] |= state
                return _NOWHERE
            case "continue_statement":
                return _NOWHERE
            case "goto_statement":
                self.jumps.setdefault(_get_child_text(node, 1), set()).update(state)
                return _NOWHERE
            case "labeled_statement":
                state |= frozenset(self.jumps.get(_get_child_text(node, 0), ()))
        return self._run_compound(node, state)

    def _run_compound(self, node: SyntaxNode, state: _State) -> _State:
        if node.type == "if_statement":
            return self._run_branches(node, state)
        if node.type in _LOOPS:
            return self._run_loop(node, state)
        if node.type == "switch_statement":
            return self._switch(node, state)
        if node.type in _SEQUENCES:
            for child in node.children or ():
                state = self.through(child, state)
            return state
        if node.type in BLOCKS:
            return self._run_conditional(node, state)
        return self._count_calls(node, state)

    def _run_branches(self, node: SyntaxNode, state: _State) -> _State:
        """`if (...) ... else ...`: either, and where there is no else, neither."""
        _, condition, taken, *other = node.children or ()
        state = self._count_calls(condition, state)
        without = self.through(other[-1], state) if other else state
        return self.through(taken, state) | without

    def _run_loop(self, node: SyntaxNode, state: _State) -> _State:
        self.broken.append(set())
        for _ in range(2):
            inside = state
            for child in node.children or ():
                inside = self.through(child, inside)
            state |= inside
        return state | frozenset(self.broken.pop())

    def _switch(self, node: SyntaxNode, state: _State) -> _State:
        """Each case is entered from above and from the case before it; without a default, none may be."""
        self.broken.append(set())
        inside, default = _NOWHERE, False
        for case in (node.children or ())[-1].children or ():
            inside |= state if case.type == "case_statement" else _NOWHERE
            default = default or case.signature[:1] == ("default",)
            for child in case.children or ():
                inside = self.through(child, inside)
        return inside | frozenset(self.broken.pop()) | (_NOWHERE if default else state)

    def _run_conditional(self, node: SyntaxNode, state: _State) -> _State:
        """`#if`: its lines, or those of `#else`, or none."""
        inside, alternative = state, state
        for child in node.children or ():
            if child.type in _ALTERNATIVES:
                alternative = self.through(child, state)
            else:
                inside = self.through(child, inside)
        return inside | alternative

    def _count_calls(self, node: SyntaxNode, state: _State) -> _State:
        change = node.signature.count(self.opens) - node.signature.count(self.closes)
        if change:
            state = frozenset(max(-_MOST, min(_MOST, number + change)) for number in state)
            self.lowest = min(self.lowest, *state) if state else self.lowest
        return state


def _get_child_text(node: SyntaxNode, index: int) -> str:
    return (node.children or ())[index].text or ""


PAIRS = (
    ("MUTEX_LOCK", "MUTEX_UNLOCK"),
    ("ImagingSectionEnter", "ImagingSectionLeave"),
    ("Py_BEGIN_ALLOW_THREADS", "Py_END_ALLOW_THREADS"),
    ("Py_BEGIN_CRITICAL_SECTION", "Py_END_CRITICAL_SECTION"),
)

_MARKER = re.compile(r"^(?:<{7}|>{7}|\|{7}|={7})(?:\s|$)", re.MULTILINE)


def check_pairs(upstream: str, merged: str, file: str) -> tuple[str, ...]:
    """Compare one merged file with upstream's.

    Args:
        upstream: the file as upstream has it; empty if the fork brought it.
        merged: the file as the merge left it, with or without guards.
        file: its name, for the messages.

    Returns:
        What is wrong, one sentence each; empty if nothing is.
    """
    if upstream == merged:
        return ()
    known = _list_functions(upstream)
    problems = ["holds a conflict marker"] if _MARKER.search(merged) else []
    for name, function in _list_functions(merged).items():
        counterpart = known.get(name) or known.get(_strip_suffix(name))
        if f"{name}{KERNEL_SUFFIX}" not in function.signature:
            shown = name.partition("#")[0]
            problems += [f"{shown}: {problem}" for problem in _find_function_problems(counterpart, function)]
    return tuple(f"{file}: {problem}" for problem in problems)


def check_tree(upstream: Path, merged: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Compare the files that a merge changed or brought with upstream's.

    Args:
        upstream: top directory of upstream's source.
        merged: top directory of the merged source.
        files: relative to both; C sources and headers. What the merged source alone has beside them is looked at too.

    Returns:
        As `check_pairs`, and calls of functions that the merge lost.
    """
    every = dict.fromkeys((*files, *_list_fork_sources(upstream, merged, files)))
    texts = {file: (_read(upstream / file), _read(merged / file)) for file in every}
    problems = [problem for file, (ours, theirs) in texts.items() for problem in check_pairs(ours, theirs, file)]
    return (*problems, *find_lost_functions(merged, texts))


def _list_fork_sources(upstream: Path, merged: Path, files: Sequence[str]) -> Iterator[str]:
    """Sources that the fork brought, in the directories of some files."""
    for directory in sorted({(merged / file).parent for file in files}):
        for path in sorted(directory.glob("*.[ch]")):
            name = path.relative_to(merged).as_posix()
            if not (upstream / name).exists():
                yield name


def _find_function_problems(upstream: SyntaxNode | None, merged: SyntaxNode) -> Iterator[str]:
    for opens, closes in PAIRS:
        after = _count_calls_of_pair(merged, opens, closes)
        before = _count_calls_of_pair(upstream, opens, closes) if upstream else after
        if before != after:
            yield f"{opens} {after[0]} times (upstream {before[0]}), {closes} {after[1]} times (upstream {before[1]})"
        elif any(after):
            allowed = openings(upstream, opens, closes) if upstream else ScopeOpenings(left=frozenset((0,)), lowest=0)
            yield from _find_path_problems(openings(merged, opens, closes), allowed, opens)


def _find_path_problems(found: ScopeOpenings, allowed: ScopeOpenings, opens: str) -> Iterator[str]:
    if found.lowest < allowed.lowest:
        yield f"{opens} comes after its counterpart on a path on which it does not in upstream's"
    elif strange := found.left - allowed.left:
        much = "is left open" if max(strange) > 0 else "is closed twice"
        yield f"{opens} {much} on a path on which it is not in upstream's"


def _count_calls_of_pair(function: SyntaxNode, opens: str, closes: str) -> tuple[int, int]:
    return function.signature.count(opens), function.signature.count(closes)


def _list_functions(source: str) -> dict[str, SyntaxNode]:
    """Functions by name, also those inside `#if`; a second one of a name gets its number."""
    found: dict[str, SyntaxNode] = {}
    numbers: Counter[str] = Counter()
    for name, node in _list_named_functions(source):
        numbers[name] += 1
        found[name if numbers[name] == 1 else f"{name}#{numbers[name]}"] = node
    return found


def _list_named_functions(source: str) -> Iterator[tuple[str, SyntaxNode]]:
    for item in parse_items(source).items:
        if item.node.type == ATOMIC:
            yield item.key.name, item.node
        for node in function_definitions(item.node):
            yield function_name(node), node


def _strip_suffix(name: str) -> str:
    return re.sub(rf"({KERNEL_SUFFIX}|{SUFFIX})(?=#|$)", "", name)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""


_MACRO = re.compile(r"#\s*define\s+(\w+)\(")
_INCLUDED = re.compile(r'^#\s*include\s+"([^"]+)"', re.MULTILINE)
_SOURCES = ("*.c", "*.h")

Texts = Mapping[str, tuple[str, str]]


def find_lost_functions(merged: Path, texts: Texts) -> tuple[str, ...]:
    """Calls of what is no longer there.

    Args:
        merged: top directory of the merged source.
        texts: of every file that the merge changed or brought: upstream's text, and the merged one.

    Returns:
        One sentence for each function and file that calls it; empty if nothing is lost.
    """
    gone = {file: _list_callables(ours) - _list_callables(theirs) for file, (ours, theirs) in texts.items()}
    return (
        *_find_lost_calls_at_home(merged, texts, gone),
        *_find_lost_calls_elsewhere(merged, gone),
        *_find_lost_copies(texts),
    )


def _find_lost_calls_at_home(merged: Path, texts: Texts, gone: Mapping[str, set[str]]) -> Iterator[str]:
    """Calls from the file that had the function: nothing that it includes has it, and no other file shares it."""
    for file, names in gone.items():
        called = names & _list_called_names(texts[file][1])
        if called:
            shared = {name for _, text in texts.values() for name in _list_callables(text, shared_only=True)}
            for name in sorted(called - shared - _list_included_definitions(merged / file, set())):
                yield f"{file}: calls {name}, which is lost: upstream defines it there"


def _find_lost_calls_elsewhere(merged: Path, gone: Mapping[str, set[str]]) -> Iterator[str]:
    """Calls from other files of functions that are defined nowhere any more."""
    homes = {name: file for file, names in gone.items() for name in sorted(names)}
    sources = dict(_list_mentioning_sources(merged, homes)) if homes else {}
    present = {name for text in sources.values() for name in _list_callables(text, shared_only=True)}
    for file, text in sources.items():
        here = merged / file
        for name in sorted(_list_called_names(text) & set(homes) - present):
            if homes[name] != file and name not in _list_included_definitions(here, set()):
                yield f"{file}: calls {name}, which is lost: upstream defines it in {homes[name]}"


def _list_mentioning_sources(merged: Path, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The sources of a tree that mention one of some names as if they called it, with their texts."""
    suspects = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\s*\(")
    for path in sorted(path for pattern in _SOURCES for path in merged.rglob(pattern)):
        text = _read(path)
        if suspects.search(text):
            yield path.relative_to(merged).as_posix(), text


def _find_lost_copies(texts: Texts) -> Iterator[str]:
    """Second forms of functions, which a dispatcher or each other call, that are not there."""
    for file, (_, text) in texts.items():
        copies = {name for name in _list_called_names(text) if name.endswith((SUFFIX, KERNEL_SUFFIX))}
        for name in sorted(copies - _list_callables(text)):
            yield f"{file}: calls {name}, which is lost: a guard needs it"


def _list_included_definitions(file: Path, seen: set[Path]) -> set[str]:
    """What a file and those that it includes from beside it define."""
    if file in seen or not file.is_file():
        return set()
    seen.add(file)
    text = _read(file)
    further = (_list_included_definitions(file.parent / name, seen) for name in _INCLUDED.findall(text))
    return _list_callables(text).union(*further)


def _list_callables(source: str, *, shared_only: bool = False) -> set[str]:
    """Functions and macros with parameters that a source defines.

    Args:
        source: C.
        shared_only: only what another file can call without including this one.
    """
    return {name for item in parse_items(source).items for name in _list_item_callables(item, shared_only=shared_only)}


def _list_item_callables(item: Item, *, shared_only: bool) -> Iterator[str]:
    if item.node.type == ATOMIC and item.key.kind == "function":
        yield item.key.name
    for function in function_definitions(item.node):
        if not shared_only or "static" not in function.signature[:4]:
            yield function_name(function)
    if not shared_only:
        for node in item.node.walk():
            if node.type == DIRECTIVE:
                yield from _MACRO.findall(node.text or "")


def _list_called_names(source: str) -> set[str]:
    """Names that are called, in functions and in macros."""
    return {name for item in parse_items(source).items for name in _list_item_calls(item)}


def _list_item_calls(item: Item) -> Iterator[str]:
    if item.node.type == ATOMIC:
        yield from _list_names_before_parentheses(item.signature)
    for node in item.node.walk():
        if node.type == "call_expression" and node.children:
            yield node.children[0].text or ""
        elif node.type == DIRECTIVE:
            yield from _list_names_before_parentheses(tokens(node.text or "")[2:])


def _list_names_before_parentheses(words: tuple[str, ...]) -> Iterator[str]:
    return (before for before, after in pairwise(words) if after == "(")
