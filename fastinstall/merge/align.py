"""Which children of one node are the counterparts of which children of another.

Same tokens first. Between those, statements that update the same thing; between those, what is of the same type:
in full where the types are the same one by one, else only structures that have enough in common.
"""

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher

from fastinstall.merge.nodes import DIRECTIVE, Node
from fastinstall.merge.syntax import BLOCKS

STRUCTURES = BLOCKS | frozenset(
    (
        "function_definition",
        "compound_statement",
        "if_statement",
        "else_clause",
        "for_statement",
        "while_statement",
        "do_statement",
        "switch_statement",
        "case_statement",
        "labeled_statement",
        "declaration",
        "init_declarator",
        "initializer_list",
    )
)

_ENOUGH = 0.35
_ENTRY = 6

_Gap = Callable[[Sequence[Node], Sequence[Node]], dict[int, int]]


def align(left: Sequence[Node], right: Sequence[Node]) -> dict[int, int]:
    """Counterparts, as positions in `right` by positions in `left`; both ascend together."""
    return _align_by(lambda node: node.signature, _align_updates, left, right)


def similarity(left: Node, right: Node) -> float:
    """How much two nodes have in common: 0 nothing, 1 all tokens in the same order."""
    return SequenceMatcher(None, left.signature, right.signature, autojunk=False).ratio()


def _align_updates(left: Sequence[Node], right: Sequence[Node]) -> dict[int, int]:
    return _align_by(_label, _align_types, left, right)


def _align_types(left: Sequence[Node], right: Sequence[Node]) -> dict[int, int]:
    types = [node.type for node in left]
    if types == [node.type for node in right]:
        return {index: index for index in range(len(left))}
    pairs = _align_by(lambda node: node.type, _no_counterparts, left, right)
    return {one: other for one, other in pairs.items() if _alike(left[one], right[other])}


def _no_counterparts(_left: Sequence[Node], _right: Sequence[Node]) -> dict[int, int]:
    return {}


def _align_by(
    label: Callable[[Node], Hashable], within_gaps: _Gap, left: Sequence[Node], right: Sequence[Node]
) -> dict[int, int]:
    """Pair what bears the same label, and leave what stands between the pairs to `within_gaps`."""
    matcher = SequenceMatcher(None, [label(node) for node in left], [label(node) for node in right], autojunk=False)
    pairs: dict[int, int] = {}
    end, other_end = 0, 0
    for start, other_start, size in matcher.get_matching_blocks():
        if end < start and other_end < other_start:
            inner = within_gaps(left[end:start], right[other_end:other_start])
            pairs.update({end + one: other_end + other for one, other in inner.items()})
        pairs.update({start + step: other_start + step for step in range(size)})
        end, other_end = start + size, other_start + size
    return pairs


def _alike(left: Node, right: Node) -> bool:
    if left.type not in STRUCTURES or not left.children or not right.children:
        return False
    return similarity(left, right) > _ENOUGH


def _label(node: Node) -> Hashable:
    """What a statement updates, or what tells an entry of a table from the others."""
    if not node.children:
        return (node.type, node.text if node.type == DIRECTIVE else None)
    name = _NAMES.get(node.type)
    return (node.type, *name(node.children)) if name else (node.type,)


def _updated(expression: Node) -> tuple[Hashable, ...]:
    if expression.type in ("assignment_expression", "call_expression") and expression.children:
        return (expression.type, expression.children[0].signature)
    return (expression.type,)


_NAMES: dict[str, Callable[[Sequence[Node]], tuple[Hashable, ...]]] = {
    "expression_statement": lambda children: _updated(children[0]),
    "declaration": lambda children: children[-2].signature[:2] if len(children) > 1 else (),
    "if_statement": lambda children: children[1].signature,
    "while_statement": lambda children: children[1].signature,
    "function_definition": lambda children: children[-2].signature,
    "initializer_list": lambda children: tuple(token for child in children for token in child.signature)[:_ENTRY],
}
