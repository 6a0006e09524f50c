"""Disassemble machine code with iced-x86: find the CPU features that instructions need, and addresses they refer to.

This is the only module that imports iced-x86 (the extra `isa`); all functions except `is_available` need it. iced-x86
names features (`CpuidFeature`) after the manuals of Intel and AMD. This module translates these names to the names in
/proc/cpuinfo (arch/x86/include/asm/cpufeatures.h of Linux).
"""

from collections import Counter
from enum import Enum
from functools import cache
from importlib.util import find_spec
from itertools import compress
from operator import attrgetter

from fastinstall.core.values import immutable

_CODE = attrgetter("code")
_MARK = 4  # size in bytes of ENDBR64, which may precede a jump
_IS_RELATIVE = attrgetter("is_ip_rel_memory_operand")


class Style(Enum):
    """For an instruction that uses vector registers, its encoding; for any other instruction, its kind."""

    LEGACY = "legacy SSE"
    WIDE = "VEX or EVEX"
    OTHER = "no vector instruction"
    QUESTION = "asks the CPU"
    NONE = "no instruction"


@immutable
class References:
    """The addresses that a stretch of code refers to, except targets of branches within the stretch.

    Attributes:
        branches: addresses that the code calls or jumps to.
        through: addresses of pointers that the code calls or jumps through.
        writes: addresses that the code may write to.
        data: other addresses, which the code reads or passes on.
    """

    branches: frozenset[int]
    through: frozenset[int]
    writes: frozenset[int]
    data: frozenset[int]

    @property
    def addresses(self) -> frozenset[int]:
        """All addresses except `branches`."""
        return self.through | self.writes | self.data


def is_available() -> bool:
    """Return whether the extra `isa` is installed."""
    return find_spec("iced_x86") is not None


def count_instructions(content: bytes, address: int) -> Counter[int]:
    """Count the instructions of each kind (iced's `Code`) in a stretch of code, decoded from its first byte."""
    from iced_x86 import Decoder  # this import takes 11 ms

    return Counter(map(_CODE, Decoder(64, content, ip=address)))


def count_and_refer(content: bytes, address: int) -> tuple[Counter[int], References]:
    """Return the counts of `count_instructions` and the addresses that the code refers to; takes twice as long."""
    from iced_x86 import Decoder  # this import takes 11 ms

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
    """Return the CPU features that a kind of instruction (iced's `Code`) needs beyond x86-64-v1, and its style.

    Features are named as in /proc/cpuinfo. A feature is left out if CPUs without it can run the instruction too, or if
    only operating systems and dispatchers use the instruction.
    """
    from iced_x86 import Code, CpuidFeature, EncodingKind, Instruction, OpCodeInfo  # this import takes 11 ms

    if code == Code.INVALID:
        return frozenset(), Style.NONE
    instruction = Instruction()
    instruction.code = code  # type: ignore[assignment]  # iced annotates its integers as classes
    description = OpCodeInfo(code)  # type: ignore[arg-type]  # iced annotates its integers as classes
    manuals = (_list_names(CpuidFeature)[feature] for feature in instruction.cpuid_features())
    features = frozenset(_KERNEL.get(name, name.lower()) for name in manuals if name not in _PASSED_OVER)
    style = Style.QUESTION if code in (Code.CPUID, Code.XGETBV) else Style.OTHER
    text = description.instruction_string
    if any(register in text for register in ("xmm", "ymm", "zmm")):
        if description.encoding == EncodingKind.LEGACY:
            style = Style.LEGACY
        elif features:
            style = Style.WIDE
    if text.startswith("TZCNT"):  # older CPUs run TZCNT as BSF, and compilers rely on that
        features = frozenset()
    return features, style


def trampolines(content: bytes, address: int) -> dict[int, int]:
    """Map the address of each entry of a procedure linkage table to the address of the pointer that the entry uses."""
    from iced_x86 import Code, Decoder  # this import takes 11 ms

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
    """Return three sets of iced's `Code`: branches that may leave a function, branches through pointers, and stores."""
    from iced_x86 import Code  # this import takes 11 ms

    names = _list_names(Code)
    near = {code for code, name in names.items() if name.endswith("REL32_64") and name[0] in "CJ"} | {Code.JMP_REL8_64}
    stores = ("MOV_RM8_", "MOV_RM16_", "MOV_RM32_", "MOV_RM64_", "OR_RM", "AND_RM", "XCHG_RM", "MOVUPS_XMMM", "MOVAPS_")
    writing = frozenset(code for code, name in names.items() if name.startswith(stores))
    return frozenset(near), frozenset({Code.CALL_RM64, Code.JMP_RM64}), writing


SILENT = frozenset({"abm"})
"""Features whose instructions mean something else on older CPUs: LZCNT runs as BSR there, with another result."""

_WITHOUT_PROOF = {
    # every x86-64 CPU has these (x86-64 psABI, "Micro-architecture levels")
    "baseline": "INTEL8086 INTEL8086_ONLY INTEL186 INTEL286 INTEL286_ONLY INTEL386 INTEL386_ONLY INTEL486 X64 FPU "
    "FPU287 FPU387 CMOV CX8 MMX FXSR SSE SSE2 SYSCALL TSC CLFSH SEP CPUID",
    # encoded as hints or no-operations, which CPUs without the feature ignore
    "harmless": "CET_IBT CET_SS MULTIBYTENOP PAUSE PREFETCHW PREFETCHWT1 PREFETCHITI CLDEMOTE MPX HLE UDBG",
    # used by operating systems, or by code that checks the CPU first (XGETBV and XTEST are such checks)
    "system": "MSR SMM SMX SVM VMX SKINIT SKINIT_OR_SVM INVEPT INVPCID INVVPID MONITOR RDPMC SMAP PKU RTM WBNOINVD "
    "XSAVE XSAVES RDTSCP HLE_OR_RTM",
}
"""Features whose instructions do not prove that a file needs more than x86-64-v1, as iced-x86 names them."""

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
"""The kernel's names of features, if they differ from iced-x86's names in lower case."""
