"""How a function for aarch64 begins that was compiled without optimisation.

It sets up a frame and stores its first parameter there, with nothing between but registers that are saved and, with
`-fstack-protector`, the guard's value. Source: Arm Architecture Reference Manual for A-profile (DDI 0487), chapter C4.
"""

import struct

_HINTS = (0xD503245F, 0xD503233F)  # bti c, paciasp
_LOWERS_STACK = (0xFF8003FF, 0xD10003FF)  # sub sp,sp,#number
_SETS_FRAME = (0xFF8003FF, 0x910003FD)  # add x29,sp,#number, of which mov x29,sp is one
_SAVES_PAIR = (0x3A4003E0, 0x280003E0)  # stp of any registers to where sp points
_LOADS_GUARD = ((0x9F000000, 0x90000000), (0xFFC00000, 0xF9400000))  # adrp; ldr of a pointer
_STORES = (  # str and stur, of registers for numbers of any size, and of the whole of a vector register
    (0x3BC00000, 0x39000000),
    (0xFFC00000, 0x3D800000),
    (0x3BE00C00, 0x38000000),
    (0xFFE00C00, 0x3C800000),
)
_FRAME_REGISTERS = (29, 31)  # x29, sp
_REGISTER = 31
_FIRST_SAVED = 19  # x19 to x30, of those that stp saves
_FIRST_OTHER = 8  # the registers from this one on hold no parameters


def begins_unoptimised(code: bytes) -> bool:
    """Tell whether a function's first instructions are those of a build at -O0; its first 48 bytes are enough.

    A function without parameters is not taken for one.
    """
    has_frame = False
    for (word,) in struct.iter_unpack("<I", code[: len(code) // 4 * 4]):
        stored = _find_stored(word)
        if _is(word, _LOWERS_STACK) or (_is(word, _SAVES_PAIR) and word & _REGISTER >= _FIRST_SAVED):
            has_frame = True
        elif stored is not None and stored < _FIRST_OTHER:
            return has_frame and stored == 0
        elif stored is None and not _prepares(word):
            return False
    return False


def _is(word: int, pattern: tuple[int, int]) -> bool:
    mask, value = pattern
    return word & mask == value


def _find_stored(word: int) -> int | None:
    """Return the number of the register that is stored into the frame; None for any other instruction."""
    framed = word >> 5 & _REGISTER in _FRAME_REGISTERS
    return word & _REGISTER if framed and any(_is(word, pattern) for pattern in _STORES) else None


def _prepares(word: int) -> bool:
    return word in _HINTS or _is(word, _SETS_FRAME) or any(_is(word, pattern) for pattern in _LOADS_GUARD)
