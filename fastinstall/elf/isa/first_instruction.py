"""The first instruction of some machine code, in words where it can be decoded, and the CPU features that it needs."""

from fastinstall.core.architecture import AARCH64
from fastinstall.elf.isa import instructions
from fastinstall.elf.isa.arm_features import name_first_extension

_BY_ENCODINGS = {AARCH64.machine: name_first_extension}


def describe_first(machine: str, code: bytes, address: int) -> tuple[str, tuple[str, ...]]:
    """Return the instruction, and what it asks of a CPU in the kernel's spelling; empty where that cannot be told.

    Args:
        machine: what the code is for, as the kernel names it.
        code: its bytes, as many as the longest instruction has.
        address: of the first of them.
    """
    if machine in _BY_ENCODINGS:
        return "", _BY_ENCODINGS[machine](code)
    decodes = machine in instructions.MACHINES and instructions.is_available()
    return instructions.disassemble_first(code, address) if decodes else ("", ())
