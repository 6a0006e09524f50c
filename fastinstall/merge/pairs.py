"""What can be seen to be wrong with a merged source without compiling it.

Locks and the like must be taken and given back in each function as upstream does it; in functions of the fork's own,
evenly on every path; no function may have got lost; no conflict marker may stand there. On most builds the
macros of locks are empty, so that no test of the built core would show that one is missing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fastinstall.merge.balance import Openings, openings
from fastinstall.merge.definitions import function_definitions, function_name
from fastinstall.merge.guards import KERNEL_SUFFIX
from fastinstall.merge.lost import lost_functions
from fastinstall.merge.nodes import Node
from fastinstall.merge.retained import SUFFIX
from fastinstall.merge.syntax import ATOMIC, parse_items

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
        upstream: the file as upstream has it; empty where the fork brought it.
        merged: the file as the merge left it, with or without guards.
        file: its name, for the messages.

    Returns:
        What is wrong, one sentence each; empty if nothing is.
    """
    if upstream == merged:
        return ()
    known = _functions(upstream)
    problems = ["holds a conflict marker"] if _MARKER.search(merged) else []
    for name, function in _functions(merged).items():
        counterpart = known.get(name) or known.get(_plain_name(name))
        if f"{name}{KERNEL_SUFFIX}" not in function.signature:
            problems += [f"{_shown(name)}: {problem}" for problem in _function_problems(counterpart, function)]
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
    every = dict.fromkeys((*files, *_brought(upstream, merged, files)))
    texts = {file: (_read(upstream / file), _read(merged / file)) for file in every}
    problems = [problem for file, (ours, theirs) in texts.items() for problem in check_pairs(ours, theirs, file)]
    return (*problems, *lost_functions(merged, texts))


def _brought(upstream: Path, merged: Path, files: Sequence[str]) -> Iterator[str]:
    """Sources that the fork brought, in the directories of some files."""
    for directory in sorted({(merged / file).parent for file in files}):
        for path in sorted(directory.glob("*.[ch]")):
            name = path.relative_to(merged).as_posix()
            if not (upstream / name).exists():
                yield name


def _function_problems(upstream: Node | None, merged: Node) -> Iterator[str]:
    for opens, closes in PAIRS:
        after = _counts(merged, opens, closes)
        before = _counts(upstream, opens, closes) if upstream else after
        if before != after:
            yield f"{opens} {after[0]} times (upstream {before[0]}), {closes} {after[1]} times (upstream {before[1]})"
        elif any(after):
            allowed = openings(upstream, opens, closes) if upstream else Openings(left=frozenset((0,)), lowest=0)
            yield from _path_problems(openings(merged, opens, closes), allowed, opens)


def _path_problems(found: Openings, allowed: Openings, opens: str) -> Iterator[str]:
    if found.lowest < allowed.lowest:
        yield f"{opens} comes after its counterpart on a path on which it does not in upstream's"
    elif strange := found.left - allowed.left:
        much = "is left open" if max(strange) > 0 else "is closed twice"
        yield f"{opens} {much} on a path on which it is not in upstream's"


def _counts(function: Node, opens: str, closes: str) -> tuple[int, int]:
    return function.signature.count(opens), function.signature.count(closes)


def _functions(source: str) -> dict[str, Node]:
    """Functions by name, also those inside `#if`; a second one of a name gets its number."""
    found: dict[str, Node] = {}
    numbers: Counter[str] = Counter()
    for name, node in _named_functions(source):
        numbers[name] += 1
        found[name if numbers[name] == 1 else f"{name}#{numbers[name]}"] = node
    return found


def _named_functions(source: str) -> Iterator[tuple[str, Node]]:
    for item in parse_items(source).items:
        if item.node.type == ATOMIC:
            yield item.key.name, item.node
        for node in function_definitions(item.node):
            yield function_name(node), node


def _plain_name(name: str) -> str:
    return re.sub(rf"({KERNEL_SUFFIX}|{SUFFIX})(?=#|$)", "", name)


def _shown(name: str) -> str:
    return name.partition("#")[0]


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else ""
