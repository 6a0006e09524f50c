"""Loop counters: `for (int x = 0; ...)` of one side as `for (x = 0; ...)` where another declares x before the loops.

Only where that cannot change what runs: the name means the loops' counter and nothing else in the whole function, no
loop over it stands in another, and there are no more loops over it than the base has.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from fastinstall.merge.declarations import Declared, declarations_in, declared_by
from fastinstall.merge.nodes import Node
from fastinstall.merge.syntax import parse_items


def with_counters_outside(base: Node, upstream: Node, kernels: Node) -> tuple[Node, Node, Node]:
    """The three function definitions with their counters declared alike."""
    versions = (base, upstream, kernels)
    outside = frozenset(one.name for version in versions for one in _plain_counters(version))
    limits = Counter(name for loop in _loops(base) for name in _counted(loop))
    one, two, three = (_hoist(version, outside, limits) for version in versions)
    return one, two, three


def _plain_counters(function: Node) -> Iterator[Declared]:
    """Integers that the body declares without a value."""
    for statement in (function.children or (function,))[-1].children or ():
        for declared in declared_by(statement) if statement.type == "declaration" else ():
            if declared.type == ("int",) and declared.declarator.type == "identifier" and declared.initial is None:
                yield declared


def _loops(function: Node) -> Iterator[Node]:
    return (node for node in function.walk() if node.type == "for_statement")


def _counted(loop: Node) -> list[str]:
    """Names that a loop gives their first value."""
    start = (loop.children or ())[2]
    if start.type == "declaration":
        return [declared.name for declared in declared_by(start)]
    assigned = (node for node in start.walk() if node.type == "assignment_expression")
    return [node.children[0].text or "" for node in assigned if node.children]


def _hoist(function: Node, outside: frozenset[str], limits: Counter[str]) -> Node:
    names = [name for name in sorted(outside) if _is_counter_only(function, name, limits[name])]
    if not names:
        return function
    hoisted = function.rewrite(lambda node: _with_assignment(node, frozenset(names)))
    if hoisted is function:
        return function
    declared = tuple(parse_items(f"int {name};").items[0].node for name in names)
    *head, body = hoisted.children or ()
    brace, *rest = body.children or ()
    return Node(hoisted.type, None, (*head, Node(body.type, None, (brace, *declared, *rest))))


def _is_counter_only(function: Node, name: str, limit: int) -> bool:
    loops = [loop for loop in _loops(function) if _declares(loop, name)]
    if not loops or len(loops) > limit:
        return False
    declarations = sum(declared.name == name for declared in declarations_in(function))
    nested = any(_declares(inner, name) for loop in loops for inner in _loops(loop) if inner is not loop)
    everywhere = _occurrences(function, name)
    return declarations == len(loops) and not nested and everywhere == sum(_occurrences(loop, name) for loop in loops)


def _declares(loop: Node, name: str) -> bool:
    return name in [declared.name for declared in _start(loop)]


def _start(loop: Node) -> Sequence[Declared]:
    start = (loop.children or ())[2]
    return declared_by(start) if start.type == "declaration" else ()


def _occurrences(node: Node, name: str) -> int:
    return sum(below.text == name for below in node.walk() if below.type in ("identifier", "type_identifier"))


def _with_assignment(loop: Node, names: frozenset[str]) -> Node:
    if loop.type != "for_statement" or not loop.children:
        return loop
    declared = _start(loop)
    plain = all(one.type == ("int",) and one.initial and one.declarator.type == "identifier" for one in declared)
    if not declared or not plain or not names.issuperset(one.name for one in declared):
        return loop
    *assignments, start = (_assignment(one) for one in declared)
    for assignment in reversed(assignments):
        start = Node("comma_expression", None, (assignment, Node(",", ","), start))
    return Node(loop.type, None, (*loop.children[:2], start, Node(";", ";"), *loop.children[3:]))


def _assignment(declared: Declared) -> Node:
    if declared.initial is None:
        raise ValueError(declared.name)
    name = Node("identifier", declared.name)
    return Node("assignment_expression", None, (name, Node("=", "="), declared.initial))
