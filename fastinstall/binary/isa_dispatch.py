"""Which functions of a file run only where it has asked the CPU first; an estimate, from who refers to whom.

A function that asks (CPUID, `__cpu_model`, an IFUNC's resolver), those that call it, and those that read the variables
that it sets, choose among others. What nothing but they refers to is chosen by them; all else that can be reached from
outside runs unasked. What is chosen by an answer that was passed on as an argument is not seen, and called unasked.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from fastinstall.binary.isa_code import CodeMap, piece_at
from fastinstall.binary.isa_decode import References, trampolines
from fastinstall.binary.isa_links import Links
from fastinstall.model.immutable import immutable


@immutable
class Choice:
    """How a file's functions come to run, by their indices among the pieces of its code.

    Attributes:
        unasked: those that may run on any CPU.
        choosing: those that ask the CPU, or act on its answer.
        reading: those of them that read the answer from a variable, and may act on it on the spot.
    """

    unasked: frozenset[int]
    choosing: frozenset[int]
    reading: frozenset[int]


@immutable
class Program:
    """A file's functions, and what leads from one to another.

    Attributes:
        code: the functions.
        references: of each function.
        needs: the features that each function uses.
        links: what leads into them from outside.
    """

    code: CodeMap
    references: Sequence[References]
    needs: Sequence[Collection[str]]
    links: Links


def choose(program: Program, asking: Iterable[int]) -> Choice:
    """Tell what runs unasked.

    Args:
        program: the functions.
        asking: indices of those that hold instructions which ask the CPU.
    """
    graph = _Graph(program)
    probes = set(asking) | graph.owners(program.links.resolvers) | graph.reading(program.links.asking)
    callers = graph.callers(probes)
    calling = probes | callers | graph.callers(callers)
    reading = graph.reading(graph.answers(probes, callers)) - calling
    choosing = calling | reading
    unasked = graph.unasked(choosing, program.needs)
    return Choice(unasked=frozenset(unasked), choosing=frozenset(choosing), reading=frozenset(reading))


class _Graph:
    """Who refers to whom."""

    def __init__(self, program: Program) -> None:
        self._code = program.code
        self._starts = [piece.start for piece in program.code.pieces]
        self._by_start = {start: index for index, start in enumerate(self._starts)}
        self._references = program.references
        self._links = program.links
        self._stubs: dict[int, int] = {}
        for address, content in program.code.trampolines:
            self._stubs |= trampolines(content, address)
        self._through = frozenset().union(*(each.through for each in program.references))
        self._named = frozenset().union(*(each.addresses for each in program.references))
        self._places = [self._places_of(each) for each in program.references]
        self._targets = [self._targets_of(index) for index in range(len(program.references))]
        self._users: dict[int, set[int]] = defaultdict(set)
        for index, targets in enumerate(self._targets):
            for target in targets - {index}:
                self._users[target].add(index)

    def owners(self, addresses: Iterable[int]) -> set[int]:
        """The functions that hold addresses."""
        found = {self._owner(address) for address in addresses}
        return {index for index in found if index >= 0}

    def callers(self, functions: set[int]) -> set[int]:
        """Who refers to any of them."""
        return set().union(*(self._users[index] for index in functions))

    def reading(self, addresses: frozenset[int]) -> set[int]:
        """Who refers to any of some variables, or calls through any of some pointers."""
        return {index for index, places in enumerate(self._places) if places & addresses}

    def answers(self, probes: set[int], callers: set[int]) -> frozenset[int]:
        """Variables that hold what the CPU has, and pointers to what tells it; none that code is called through.

        The former are those that the functions refer to which ask, or that get their answers.
        """
        named = (self._references[index] for index in probes | callers)
        plain = {address for each in named for address in each.writes | each.data if self._is_variable(address)}
        pointers = {place for place, target in self._links.pointers.items() if self._owner(target) in probes}
        found = frozenset(plain | pointers)
        return found.union(place for place, target in self._links.pointers.items() if target in found)

    def unasked(self, choosing: set[int], needs: Sequence[Collection[str]]) -> set[int]:
        """Everything that can be reached from outside without a choice.

        A table of pointers may be one to choose from: what needs more than the rest of the file does is not
        taken for reached by it.
        """
        tables = self.owners(target for place, target in self._links.pointers.items() if place not in self._named)
        plain = {index for index in tables if not needs[index]}
        reached = self._reach(self._entries(choosing) | plain, choosing)
        usual = {feature for index in reached for feature in needs[index]}
        return reached | self._reach({index for index in tables if usual.issuperset(needs[index])}, choosing)

    def _reach(self, waiting: set[int], choosing: set[int]) -> set[int]:
        reached: set[int] = set()
        while waiting:
            index = waiting.pop()
            if index in reached:
                continue
            reached.add(index)
            targets = self._targets[index]
            waiting |= targets & choosing if index in choosing else targets
        return reached

    def _entries(self, choosing: set[int]) -> set[int]:
        chosen = set().union(*(self._targets[index] for index in choosing)) - choosing
        return (self.owners(self._links.exported) - chosen) | self.owners(self._links.resolvers)

    def _owner(self, address: int) -> int:
        index = self._by_start.get(address)
        return piece_at(self._starts, self._code.pieces, address) if index is None else index

    def _places_of(self, references: References) -> frozenset[int]:
        """Variables and pointers that are referred to, those of trampolines included."""
        stubs = (self._stubs[address] for address in references.branches if address in self._stubs)
        return references.addresses.union(stubs)

    def _targets_of(self, index: int) -> set[int]:
        pointers, places = self._links.pointers, self._places[index]
        return self.owners(self._references[index].branches | places | {pointers.get(place, -1) for place in places})

    def _is_variable(self, address: int) -> bool:
        fixed = address in self._links.pointers or any(address in part for part in self._links.constant)
        return not fixed and address not in self._through
