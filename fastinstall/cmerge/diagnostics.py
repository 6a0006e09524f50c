"""Find what is wrong with a merged source without compiling it.

Locks and the like must be taken and released in each function as upstream does it; in functions of the fork's own,
evenly on every path. No function that upstream defines and calls may be lost, and no conflict marker may remain. On
most builds the macros of locks are empty, so no test of the built core would show that one is missing.

Paths are checked by an abstract run over the syntax: its state is the set of numbers of openings that are possible at a
place. Loops run twice, conditions may go either way, and so may `#if`. Macros are not expanded.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from fastinstall.cmerge.declarations import function_definitions, function_name
from fastinstall.cmerge.runtime_guards import KERNEL_SUFFIX, SUFFIX
from fastinstall.cmerge.syntax import ATOMIC, BLOCKS, DIRECTIVE, SyntaxNode, parse_items, tokens
from fastinstall.core.values import immutable

_ALTERNATIVES = BLOCKS - {"preproc_if", "preproc_ifdef"}
_LEAVING = ("return_statement", "break_statement", "continue_statement", "goto_statement")
_LOOPS = ("for_statement", "while_statement", "do_statement")
_SEQUENCES = ("compound_statement", "function_definition", "labeled_statement", "else_clause", "preproc_else")
_MOST = 8  # openings, beyond which the number does not matter

_State = frozenset[int]
_Children = tuple[SyntaxNode, ...]
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
        kind, children = node.type, node.children or ()
        if kind in _LEAVING:
            self._leave(node, state)
            return _NOWHERE
        if kind == "labeled_statement":
            state |= frozenset(self.jumps.get(children[0].text or "", ()))
        if kind in _SEQUENCES:
            for child in children:
                state = self.through(child, state)
        elif kind in _LOOPS:
            state = self._run_loop(children, state)
        elif kind in BLOCKS:
            state = self._run_conditional(children, state)
        elif kind == "if_statement":
            state = self._run_branches(children, state)
        elif kind == "switch_statement":
            state = self._switch(children, state)
        else:
            state = self._count_calls(node, state)
        return state

    def _leave(self, node: SyntaxNode, state: _State) -> None:
        if node.type == "return_statement":
            self.left |= self._count_calls(node, state)
        elif node.type == "goto_statement":
            self.jumps.setdefault((node.children or ())[1].text or "", set()).update(state)
        elif node.type == "break_statement" and self.broken:
            self.broken[-1] |= state

    def _run_branches(self, children: _Children, state: _State) -> _State:
        """`if (...) ... else ...`: either, and where there is no else, neither."""
        _, condition, taken, *other = children
        state = self._count_calls(condition, state)
        without = self.through(other[-1], state) if other else state
        return self.through(taken, state) | without

    def _run_loop(self, children: _Children, state: _State) -> _State:
        self.broken.append(set())
        for _ in range(2):
            inside = state
            for child in children:
                inside = self.through(child, inside)
            state |= inside
        return state | frozenset(self.broken.pop())

    def _switch(self, children: _Children, state: _State) -> _State:
        """Each case is entered from above and from the case before it; without a default, none may be."""
        self.broken.append(set())
        inside, default = _NOWHERE, False
        for case in children[-1].children or ():
            inside |= state if case.type == "case_statement" else _NOWHERE
            default = default or case.signature[:1] == ("default",)
            for child in case.children or ():
                inside = self.through(child, inside)
        return inside | frozenset(self.broken.pop()) | (_NOWHERE if default else state)

    def _run_conditional(self, children: _Children, state: _State) -> _State:
        """`#if`: its lines, or those of `#else`, or none."""
        inside, alternative = state, state
        for child in children:
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
    every = dict.fromkeys(files)
    for directory in sorted({(merged / file).parent for file in files}):
        names = (path.relative_to(merged).as_posix() for path in sorted(directory.glob("*.[ch]")))
        every.update(dict.fromkeys(name for name in names if not (upstream / name).exists()))
    texts = {file: (_read(upstream / file), _read(merged / file)) for file in every}
    problems = [problem for file, (ours, theirs) in texts.items() for problem in check_pairs(ours, theirs, file)]
    return (*problems, *_find_lost_functions(merged, texts))


def _find_function_problems(upstream: SyntaxNode | None, merged: SyntaxNode) -> Iterator[str]:
    for opens, closes in PAIRS:
        counts = [
            (name, merged.signature.count(name), (upstream or merged).signature.count(name)) for name in (opens, closes)
        ]
        if any(after != before for _, after, before in counts):
            yield ", ".join(f"{name} {after} times (upstream {before})" for name, after, before in counts)
        elif any(after for _, after, _ in counts):
            allowed = openings(upstream, opens, closes) if upstream else ScopeOpenings(left=frozenset((0,)), lowest=0)
            found = openings(merged, opens, closes)
            if found.lowest < allowed.lowest:
                yield f"{opens} follows its counterpart on a path where it does not upstream"
            elif strange := found.left - allowed.left:
                much = "is left open" if max(strange) > 0 else "is closed twice"
                yield f"{opens} {much} on a path on which it is not in upstream's"


def _list_functions(source: str) -> dict[str, SyntaxNode]:
    """Functions by name, also those inside `#if`; a second one of a name gets its number."""
    found: dict[str, SyntaxNode] = {}
    numbers: Counter[str] = Counter()
    for item in parse_items(source).items:
        atomic = [(item.key.name, item.node)] if item.node.type == ATOMIC else []
        for name, node in (*atomic, *((function_name(node), node) for node in function_definitions(item.node))):
            numbers[name] += 1
            found[name if numbers[name] == 1 else f"{name}#{numbers[name]}"] = node
    return found


def _strip_suffix(name: str) -> str:
    return re.sub(rf"({KERNEL_SUFFIX}|{SUFFIX})(?=#|$)", "", name)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""


_MACRO = re.compile(r"#\s*define\s+(\w+)\(")
_INCLUDED = re.compile(r'^#\s*include\s+"([^"]+)"', re.MULTILINE)


def _find_lost_functions(merged: Path, texts: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Calls of what is no longer there, a sentence each; `texts` are upstream's and the merged one, by file."""
    gone = {file: _list_callables(ours) - _list_callables(theirs) for file, (ours, theirs) in texts.items()}
    shared = {name for _, text in texts.values() for name in _list_callables(text, shared_only=True)}
    for file, names in gone.items():
        called = names & _list_called_names(texts[file][1]) - shared
        for name in sorted(called - _list_included_definitions(merged / file, set())):
            yield f"{file}: calls {name}, which the merge lost: upstream defines it there"
    yield from _find_lost_calls_elsewhere(merged, {name: file for file, names in gone.items() for name in names})
    for file, (_, text) in texts.items():
        copies = {name for name in _list_called_names(text) if name.endswith((SUFFIX, KERNEL_SUFFIX))}
        for name in sorted(copies - _list_callables(text)):
            yield f"{file}: calls {name}, which is lost: a guard needs it"


def _find_lost_calls_elsewhere(merged: Path, homes: Mapping[str, str]) -> Iterator[str]:
    """Calls from other files of functions that are defined nowhere any more, given the files that had them."""
    if not homes:
        return
    suspects = re.compile(rf"\b(?:{'|'.join(map(re.escape, homes))})\s*\(")
    every = {path: _read(path) for path in sorted(merged.rglob("*.[ch]"))}
    sources = {path: text for path, text in every.items() if suspects.search(text)}
    present = {name for text in sources.values() for name in _list_callables(text, shared_only=True)}
    for path, text in sources.items():
        file = path.relative_to(merged).as_posix()
        for name in sorted(_list_called_names(text) & homes.keys() - present):
            if homes[name] != file and name not in _list_included_definitions(path, set()):
                yield f"{file}: calls {name}, which is lost: upstream defines it in {homes[name]}"


def _list_included_definitions(file: Path, seen: set[Path]) -> set[str]:
    """What a file and those that it includes from beside it define."""
    if file in seen or not file.is_file():
        return set()
    seen.add(file)
    text = _read(file)
    further = (_list_included_definitions(file.parent / name, seen) for name in _INCLUDED.findall(text))
    return _list_callables(text).union(*further)


def _list_callables(source: str, *, shared_only: bool = False) -> set[str]:
    """Functions and macros with parameters that a source defines, or those that another file can call as it is."""
    found: set[str] = set()
    for item in parse_items(source).items:
        if item.node.type == ATOMIC and item.key.kind == "function":
            found.add(item.key.name)
        for function in function_definitions(item.node):
            if not shared_only or "static" not in function.signature[:4]:
                found.add(function_name(function))
        if not shared_only:
            found.update(*(_MACRO.findall(node.text or "") for node in item.node.walk() if node.type == DIRECTIVE))
    return found


def _list_called_names(source: str) -> set[str]:
    """Names that are called, in functions and in macros."""
    found: set[str] = set()
    for item in parse_items(source).items:
        if item.node.type == ATOMIC:
            found.update(_list_names_before_parentheses(item.signature))
        for node in item.node.walk():
            if node.type == "call_expression" and node.children:
                found.add(node.children[0].text or "")
            elif node.type == DIRECTIVE:
                found.update(_list_names_before_parentheses(tokens(node.text or "")[2:]))
    return found


def _list_names_before_parentheses(words: tuple[str, ...]) -> Iterator[str]:
    return (before for before, after in pairwise(words) if after == "(")
