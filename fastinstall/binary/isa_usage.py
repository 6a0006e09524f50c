"""What a file's code uses, function by function, and which functions run only where the file asked the CPU first."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from fastinstall.binary.image import ElfImage
from fastinstall.binary.isa_code import CodeMap, Piece, map_code, split
from fastinstall.binary.isa_decode import References, Style, asking_codes, count, count_and_refer, demand_of
from fastinstall.binary.isa_dispatch import Program, choose
from fastinstall.binary.isa_links import Links, read_links
from fastinstall.model.immutable import immutable

_CPUID = b"\x0f\xa2"
_DATA = 0.01


@immutable
class Function:
    """A stretch of code and what it uses.

    Attributes:
        address: where it begins.
        instructions: how many it has.
        features: how many of them need each feature.
        legacy: how many are vector instructions of the SSE encoding.
        wide: how many are vector instructions of the encodings that came with AVX and AVX-512.
        wrong: how many decode to nothing.
        unasked: whether it may run without the file having asked the CPU.
    """

    address: int
    instructions: int
    features: Mapping[str, int]
    legacy: int
    wide: int
    wrong: int
    unasked: bool = True

    @property
    def is_code(self) -> bool:
        """Whether nearly all of it decodes: constants among code do not."""
        return self.wrong <= 1 or self.wrong < _DATA * self.instructions


@immutable
class Usage:
    """The code of a file.

    Attributes:
        functions: all of it.
        asks: addresses of the functions that ask the CPU, or choose by its answer.
        bounded: whether functions, and who calls them, could be told apart.
    """

    functions: tuple[Function, ...]
    asks: tuple[int, ...]
    bounded: bool

    @property
    def instructions(self) -> int:
        """How many there are."""
        return sum(function.instructions for function in self.functions)

    @property
    def wide_share(self) -> float:
        """The share of vector instructions in the encodings of AVX and AVX-512; 0.0 where there are none."""
        wide = sum(function.wide for function in self.functions)
        vector = wide + sum(function.legacy for function in self.functions)
        return wide / vector if vector else 0.0


def read_usage(image: ElfImage) -> Usage:
    """Decode the code of an open file.

    Raises:
        ElfError: the file is malformed.
    """
    code, links = map_code(image), read_links(image)
    if links.asking or links.resolvers or any(_CPUID in piece.content for piece in code.pieces):
        return _chosen(code, links)
    functions = (_weighed(piece, count(piece.content, piece.start)) for piece in code.pieces)
    return Usage(functions=tuple(functions), asks=(), bounded=code.bounded)


def features_of(functions: Iterable[Function]) -> Counter[str]:
    """How many instructions need each feature."""
    found: Counter[str] = Counter()
    for function in functions:
        if function.features:
            found.update(function.features)
    return found


def _chosen(code: CodeMap, links: Links) -> Usage:
    read = {piece.bounds: count_and_refer(piece.content, piece.start) for piece in code.pieces}
    code = _divided(code, [refers for _, refers in read.values()], links)
    found = [read.get(piece.bounds) or count_and_refer(piece.content, piece.start) for piece in code.pieces]
    asking = [index for index, (codes, _) in enumerate(found) if not asking_codes().isdisjoint(codes)]
    functions = tuple(_weighed(piece, codes) for piece, (codes, _) in zip(code.pieces, found, strict=True))
    program = Program(
        code=code,
        references=[refers for _, refers in found],
        needs=[function.features for function in functions],
        links=links,
    )
    choice = choose(program, asking)
    asked = set(range(len(functions))) - choice.unasked | choice.reading
    return Usage(
        functions=tuple(replace(each, unasked=index not in asked) for index, each in enumerate(functions)),
        asks=tuple(code.pieces[index].start for index in sorted(choice.choosing)),
        bounded=code.bounded,
    )


def _divided(code: CodeMap, references: list[References], links: Links) -> CodeMap:
    """Cut what lies between known functions, assembler mostly, wherever other code or a pointer leads into it."""
    if all(piece.known for piece in code.pieces):
        return code
    targets = set(links.pointers.values())
    for each in references:
        targets |= each.branches | each.data
    ordered = sorted(targets)
    pieces = (part for piece in code.pieces for part in _parts(piece, ordered))
    return replace(code, pieces=tuple(pieces))


def _parts(piece: Piece, targets: list[int]) -> Iterator[Piece]:
    if piece.known:
        yield piece
        return
    yield from split(piece, targets[bisect_right(targets, piece.start) : bisect_left(targets, piece.end)])


def _weighed(piece: Piece, codes: Mapping[int, int]) -> Function:
    features: dict[str, int] = {}
    legacy = wide = wrong = 0
    for code, number in codes.items():
        demand = demand_of(code)
        if demand.is_plain:
            continue
        for feature in demand.features:
            features[feature] = features.get(feature, 0) + number
        legacy += number if demand.style is Style.LEGACY else 0
        wide += number if demand.style is Style.WIDE else 0
        wrong += number if demand.style is Style.NONE else 0
    return Function(
        address=piece.start,
        instructions=sum(codes.values()),
        features=features,
        legacy=legacy,
        wide=wide,
        wrong=wrong,
    )
