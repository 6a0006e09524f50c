"""How often what a function opens is open when it is left: on every path, not only by count.

An abstract run over the syntax: the state is the set of numbers of openings that are possible at a place. Loops are
run twice, conditions may go either way, and so may `#if`. Macros are not expanded.
"""

from dataclasses import dataclass, field

from fastinstall.merge.nodes import Node
from fastinstall.merge.syntax import BLOCKS
from fastinstall.model.immutable import immutable

_ALTERNATIVES = BLOCKS - {"preproc_if", "preproc_ifdef"}
_LOOPS = ("for_statement", "while_statement", "do_statement")
_SEQUENCES = ("compound_statement", "function_definition", "labeled_statement", "else_clause", "preproc_else")
_MOST = 8  # openings, beyond which the number does not matter

_State = frozenset[int]
_NOWHERE: _State = frozenset()


@immutable
class Openings:
    """What a function may do with something that is opened and closed.

    Attributes:
        left: numbers of openings that may be open when it is left: {0} where every path closes all that it opens, and
            nothing else; empty if it never returns.
        lowest: the smallest number that is possible anywhere: negative where something is closed before it is open.
    """

    left: frozenset[int]
    lowest: int


def openings(function: Node, opens: str, closes: str) -> Openings:
    """Run through a function.

    Args:
        function: its definition.
        opens: name of the macro or function that opens ("MUTEX_LOCK").
        closes: name of its counterpart.
    """
    run = _Run(opens=opens, closes=closes)
    end = run.through(function, frozenset((0,)))
    return Openings(left=frozenset(run.left | end), lowest=run.lowest)


@dataclass(slots=True, kw_only=True)
class _Run:
    """A run through one function: what was left at its returns, and what jumps bring to labels and ends of loops."""

    opens: str
    closes: str
    lowest: int = 0
    left: set[int] = field(default_factory=set)
    broken: list[set[int]] = field(default_factory=list)
    jumps: dict[str, set[int]] = field(default_factory=dict)

    def through(self, node: Node, state: _State) -> _State:
        """The state behind a node, from that before it."""
        match node.type:
            case "return_statement":
                self.left |= self._calls(node, state)
                return _NOWHERE
            case "break_statement":
                if self.broken:
                    self.broken[-1] |= state
                return _NOWHERE
            case "continue_statement":
                return _NOWHERE
            case "goto_statement":
                self.jumps.setdefault(_word(node, 1), set()).update(state)
                return _NOWHERE
            case "labeled_statement":
                state |= frozenset(self.jumps.get(_word(node, 0), ()))
        return self._compound(node, state)

    def _compound(self, node: Node, state: _State) -> _State:
        if node.type == "if_statement":
            return self._branches(node, state)
        if node.type in _LOOPS:
            return self._loop(node, state)
        if node.type == "switch_statement":
            return self._switch(node, state)
        if node.type in _SEQUENCES:
            for child in node.children or ():
                state = self.through(child, state)
            return state
        if node.type in BLOCKS:
            return self._conditional(node, state)
        return self._calls(node, state)

    def _branches(self, node: Node, state: _State) -> _State:
        """`if (...) ... else ...`: either, and where there is no else, neither."""
        _, condition, taken, *other = node.children or ()
        state = self._calls(condition, state)
        without = self.through(other[-1], state) if other else state
        return self.through(taken, state) | without

    def _loop(self, node: Node, state: _State) -> _State:
        self.broken.append(set())
        for _ in range(2):
            inside = state
            for child in node.children or ():
                inside = self.through(child, inside)
            state |= inside
        return state | frozenset(self.broken.pop())

    def _switch(self, node: Node, state: _State) -> _State:
        """Each case is entered from above and from the case before it; without a default, none may be."""
        self.broken.append(set())
        inside, default = _NOWHERE, False
        for case in (node.children or ())[-1].children or ():
            inside |= state if case.type == "case_statement" else _NOWHERE
            default = default or case.signature[:1] == ("default",)
            for child in case.children or ():
                inside = self.through(child, inside)
        return inside | frozenset(self.broken.pop()) | (_NOWHERE if default else state)

    def _conditional(self, node: Node, state: _State) -> _State:
        """`#if`: its lines, or those of `#else`, or none."""
        inside, alternative = state, state
        for child in node.children or ():
            if child.type in _ALTERNATIVES:
                alternative = self.through(child, state)
            else:
                inside = self.through(child, inside)
        return inside | alternative

    def _calls(self, node: Node, state: _State) -> _State:
        change = node.signature.count(self.opens) - node.signature.count(self.closes)
        if change:
            state = frozenset(max(-_MOST, min(_MOST, number + change)) for number in state)
            self.lowest = min(self.lowest, *state) if state else self.lowest
        return state


def _word(node: Node, index: int) -> str:
    return (node.children or ())[index].text or ""
