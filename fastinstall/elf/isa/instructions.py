"""Disassemble machine code with iced-x86: which CPU features instructions need, and what they refer to.

This is the only place that imports iced-x86, the extra `isa`; every function needs it. Features are named as iced-x86
names them (`CpuidFeature`, after the manuals of Intel and AMD) and translated to /proc/cpuinfo
(arch/x86/include/asm/cpufeatures.h of Linux).
"""

from collections import Counter
from enum import Enum
from functools import cache
from importlib.util import find_spec
from itertools import compress
from operator import attrgetter

from fastinstall.core.architecture import X86_64
from fastinstall.core.values import immutable

MACHINES = frozenset({X86_64.machine})
"""Whose code iced-x86 decodes."""

_CODE = attrgetter("code")
_MARK = 4  # bytes of ENDBR64, which may stand before a jump
_IS_RELATIVE = attrgetter("is_ip_rel_memory_operand")


class Style(Enum):
    """How an instruction is encoded, of those that use vector registers; and what asks the CPU what it has."""

    LEGACY = "legacy SSE"
    WIDE = "VEX or EVEX"
    OTHER = "no vector instruction"
    QUESTION = "asks the CPU"
    NONE = "no instruction"


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
        """All referenced addresses except targets of branches."""
        return self.through | self.writes | self.data


def is_available() -> bool:
    """Return whether the extra `isa` is installed."""
    return find_spec("iced_x86") is not None


def count_instructions(content: bytes, address: int) -> Counter[int]:
    """Count each kind of instruction (iced's `Code`) in a stretch of code, decoded from its first byte."""
    from iced_x86 import Decoder  # noqa: PLC0415 (takes 11 ms)

    return Counter(map(_CODE, Decoder(64, content, ip=address)))


def count_and_refer(content: bytes, address: int) -> tuple[Counter[int], References]:
    """Count as `count` does, and find what the code refers to by addresses relative to itself; takes twice as long."""
    from iced_x86 import Decoder  # noqa: PLC0415 (takes 11 ms)

    instructions = list(Decoder(64, content, ip=address))
    codes = list(map(_CODE, instructions))
    branching, through, writing = _list_code_kinds()
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
def demand_of(code: int) -> tuple[frozenset[str], Style]:
    """Return what a kind of instruction asks of a CPU beyond x86-64-v1, in the kernel's spelling, and its encoding.

    No features: it proves nothing.
    """
    from iced_x86 import Code, CpuidFeature, EncodingKind, Instruction, OpCodeInfo  # noqa: PLC0415 (takes 11 ms)

    if code == Code.INVALID:
        return frozenset(), Style.NONE
    instruction = Instruction()
    instruction.code = code  # type: ignore[assignment]  # iced's annotations take its integers for classes
    description = OpCodeInfo(code)  # type: ignore[arg-type]  # iced's integers again
    manuals = (_list_names(CpuidFeature)[feature] for feature in instruction.cpuid_features())
    features = frozenset(_KERNEL.get(name, name.lower()) for name in manuals if name not in _PASSED_OVER)
    style = Style.QUESTION if code in (Code.CPUID, Code.XGETBV) else Style.OTHER
    text = description.instruction_string
    if any(register in text for register in ("xmm", "ymm", "zmm")):
        if description.encoding == EncodingKind.LEGACY:
            style = Style.LEGACY
        elif features:
            style = Style.WIDE
    if text.startswith("TZCNT"):  # it runs as BSF, and compilers rely on that
        features = frozenset()
    return features, style


def trampolines(content: bytes, address: int) -> dict[int, int]:
    """Return the pointers that a procedure linkage table jumps through, by the addresses where it is entered."""
    from iced_x86 import Code, Decoder  # noqa: PLC0415 (takes 11 ms)

    found = {}
    for instruction in Decoder(64, content, ip=address):
        if instruction.code == Code.JMP_RM64 and instruction.is_ip_rel_memory_operand:
            pointer = instruction.ip_rel_memory_address
            found[instruction.ip] = found[instruction.ip - _MARK] = pointer
    return found


@cache
def _list_names(enumeration: type) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


@cache
def _list_code_kinds() -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    """Return codes of branches that may leave a function, of those through a pointer, and of stores to memory."""
    from iced_x86 import Code  # noqa: PLC0415 (takes 11 ms)

    names = _list_names(Code)
    near = {code for code, name in names.items() if name.endswith("REL32_64") and name[0] in "CJ"} | {Code.JMP_REL8_64}
    stores = ("MOV_RM8_", "MOV_RM16_", "MOV_RM32_", "MOV_RM64_", "OR_RM", "AND_RM", "XCHG_RM", "MOVUPS_XMMM", "MOVAPS_")
    writing = frozenset(code for code, name in names.items() if name.startswith(stores))
    return frozenset(near), frozenset({Code.CALL_RM64, Code.JMP_RM64}), writing


SILENT = frozenset({"abm"})
"""Features whose instructions older CPUs take for others: LZCNT runs as BSR there, and the result is another number."""

_WITHOUT_PROOF = {
    # every x86-64 CPU has these (x86-64 psABI, "Micro-architecture levels")
    "baseline": "INTEL8086 INTEL8086_ONLY INTEL186 INTEL286 INTEL286_ONLY INTEL386 INTEL386_ONLY INTEL486 X64 FPU "
    "FPU287 FPU387 CMOV CX8 MMX FXSR SSE SSE2 SYSCALL TSC CLFSH SEP CPUID",
    # in the space of hints and no-operations: CPUs without the feature pass over these instructions
    "harmless": "CET_IBT CET_SS MULTIBYTENOP PAUSE PREFETCHW PREFETCHWT1 PREFETCHITI CLDEMOTE MPX HLE UDBG",
    # of operating systems, or of code that asks the CPU first: XGETBV and XTEST are themselves questions
    "system": "MSR SMM SMX SVM VMX SKINIT SKINIT_OR_SVM INVEPT INVPCID INVVPID MONITOR RDPMC SMAP PKU RTM WBNOINVD "
    "XSAVE XSAVES RDTSCP HLE_OR_RTM",
}
"""Features whose instructions prove nothing, as iced-x86 names them."""

_PASSED_OVER = frozenset(name for names in _WITHOUT_PROOF.values() for name in names.split())

_KERNEL = {
    "AVX512_IFMA": "avx512ifma",
    "AVX512_VBMI": "avx512vbmi",
    "CMPXCHG16B": "cx16",
    "D3NOW": "3dnow",
    "D3NOWEXT": "3dnowext",
    "LZCNT": "abm",
    "SHA": "sha_ni",
    "SSE3": "pni",
}
"""Where the kernel's name is not the lower case of the manuals'."""
