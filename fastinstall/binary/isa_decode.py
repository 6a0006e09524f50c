"""Machine code taken apart by iced-x86, the only place that imports it: what instructions ask for and refer to.

The package is the extra `isa`; every function but `is_available` needs it.
"""

from collections import Counter
from enum import Enum
from functools import cache
from importlib.util import find_spec
from itertools import compress
from operator import attrgetter

from fastinstall.binary.isa_features import kernel_names
from fastinstall.model.immutable import immutable

_CODE = attrgetter("code")
_MARK = 4  # bytes of ENDBR64, which may stand before a jump
_IS_RELATIVE = attrgetter("is_ip_rel_memory_operand")


class Style(Enum):
    """How an instruction is encoded, of those that use vector registers."""

    LEGACY = "legacy SSE"
    WIDE = "VEX or EVEX"
    OTHER = "no vector instruction"
    NONE = "no instruction"


@immutable
class Demand:
    """What a kind of instruction asks of a CPU.

    Attributes:
        features: beyond x86-64-v1, in the kernel's spelling; empty where it proves nothing.
        style: its encoding.
        is_plain: whether there is nothing to say of it.
    """

    features: frozenset[str]
    style: Style
    is_plain: bool


@immutable
class References:
    """What a stretch of code refers to outside itself.

    Attributes:
        branches: addresses that it calls or jumps to.
        through: addresses of pointers that it calls or jumps through.
        writes: addresses that it may write to.
        data: other addresses that it reads, or passes on.
    """

    branches: frozenset[int]
    through: frozenset[int]
    writes: frozenset[int]
    data: frozenset[int]

    @property
    def addresses(self) -> frozenset[int]:
        """All but the branches."""
        return self.through | self.writes | self.data


def is_available() -> bool:
    """Whether the extra `isa` is installed."""
    return find_spec("iced_x86") is not None


def count(content: bytes, address: int) -> Counter[int]:
    """How often each kind of instruction (iced's `Code`) stands in a stretch of code, decoded from its first byte."""
    from iced_x86 import Decoder  # noqa: PLC0415 (takes 11 ms)

    return Counter(map(_CODE, Decoder(64, content, ip=address)))


def count_and_refer(content: bytes, address: int) -> tuple[Counter[int], References]:
    """The same, and what the code refers to by addresses relative to itself; takes twice as long."""
    from iced_x86 import Decoder  # noqa: PLC0415 (takes 11 ms)

    instructions = list(Decoder(64, content, ip=address))
    codes = list(map(_CODE, instructions))
    branching, through, writing = _kinds()
    own = range(address, address + len(content))
    branches = {each.near_branch_target for each in compress(instructions, map(branching.__contains__, codes))}
    relative = [
        (each.code, each.ip_rel_memory_address) for each in compress(instructions, map(_IS_RELATIVE, instructions))
    ]
    return Counter(codes), References(
        branches=frozenset(target for target in branches if target not in own),
        through=frozenset(target for code, target in relative if code in through),
        writes=frozenset(target for code, target in relative if code in writing),
        data=frozenset(target for code, target in relative if code not in through and code not in writing),
    )


@cache
def demand_of(code: int) -> Demand:
    """What a kind of instruction asks for."""
    from iced_x86 import Code, CpuidFeature, Instruction, OpCodeInfo  # noqa: PLC0415 (takes 11 ms)

    instruction = Instruction()
    instruction.code = code  # type: ignore[assignment]  # iced's annotations take its integers for classes
    description = OpCodeInfo(code)  # type: ignore[arg-type]  # likewise
    features = kernel_names(_names(CpuidFeature)[feature] for feature in instruction.cpuid_features())
    counts_zeros = description.instruction_string.startswith("TZCNT")  # runs as BSF, and compilers rely on that
    asked: frozenset[str] = frozenset() if counts_zeros else features
    style = _style(description, features) if code != Code.INVALID else Style.NONE
    return Demand(features=asked, style=style, is_plain=not asked and style is Style.OTHER)


@cache
def asking_codes() -> frozenset[int]:
    """The kinds of instructions that ask the CPU what it has."""
    from iced_x86 import Code  # noqa: PLC0415 (takes 11 ms)

    return frozenset({Code.CPUID, Code.XGETBV})


def trampolines(content: bytes, address: int) -> dict[int, int]:
    """By the addresses at which they may be entered, the pointers that a procedure linkage table jumps through."""
    from iced_x86 import Code, Decoder  # noqa: PLC0415 (takes 11 ms)

    found = {}
    for instruction in Decoder(64, content, ip=address):
        if instruction.code == Code.JMP_RM64 and instruction.is_ip_rel_memory_operand:
            pointer = instruction.ip_rel_memory_address
            found[instruction.ip] = found[instruction.ip - _MARK] = pointer
    return found


def describe(content: bytes, address: int = 0) -> tuple[str, tuple[str, ...]]:
    """The first instruction of some bytes, disassembled, and what it asks for in the kernel's spelling.

    Returns:
        Empty where the bytes are no instruction.
    """
    from iced_x86 import Decoder, Formatter, FormatterSyntax  # noqa: PLC0415 (takes 11 ms)

    instruction = Decoder(64, content, ip=address).decode()
    demand = demand_of(instruction.code)
    if demand.style is Style.NONE:
        return "", ()
    return Formatter(FormatterSyntax.INTEL).format(instruction), tuple(sorted(demand.features))


@cache
def _names(enumeration: type) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


@cache
def _kinds() -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    """Codes of branches that may leave a function, of those through a pointer, and of stores to memory."""
    from iced_x86 import Code  # noqa: PLC0415 (takes 11 ms)

    names = _names(Code)
    near = {code for code, name in names.items() if name.endswith("REL32_64") and name[0] in "CJ"} | {Code.JMP_REL8_64}
    through = frozenset({Code.CALL_RM64, Code.JMP_RM64})
    stores = ("MOV_RM8_", "MOV_RM16_", "MOV_RM32_", "MOV_RM64_", "OR_RM", "AND_RM", "XCHG_RM", "MOVUPS_XMMM", "MOVAPS_")
    return frozenset(near), through, frozenset(code for code, name in names.items() if name.startswith(stores))


def _style(description: object, features: frozenset[str]) -> Style:
    from iced_x86 import EncodingKind  # noqa: PLC0415 (takes 11 ms)

    text, encoding = description.instruction_string, description.encoding  # type: ignore[attr-defined]
    if not any(register in text for register in ("xmm", "ymm", "zmm")):
        return Style.OTHER
    if encoding == EncodingKind.LEGACY:
        return Style.LEGACY
    return Style.WIDE if features else Style.OTHER
