"""Constants that functions return or store, read from their code without running it.

Some libraries tell their version only when asked. If the code is of no known form, the answer is unknown.
"""

import re
import struct
from pathlib import Path

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.elf.dynamic_symbols import find_symbols
from fastinstall.elf.image import ElfImage, open_image

_LONGEST = 256

# endbr64; push %rbp; mov %rsp,%rbp; mov $number,%eax; pop %rbp; ret. All but the third and the last are optional.
_RETURNS = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?(?:\x55\x48\x89\xe5)?\xb8(.{4})\x5d?\xc3", re.DOTALL)

# bti c; mov w0,#low; movk w0,#high,lsl #16; ret
_BTI, _MOVE, _MOVE_HIGH, _RETURN = 0xD503245F, 0x52800000, 0x72A00000, 0xD65F03C0

_IMMEDIATE = 0xFFFF << 5

# movl $number,offset(%register)
_STORES = tuple(
    re.compile(rb"\xc7[\x40-\x47]" + offset + rb"(.{4})", re.DOTALL) for offset in (b"\x08", b"\x0c", b"\x10")
)

# mov distance(%rip),%register
_FROM_CONSTANT = re.compile(rb"\x48\x8b[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4})", re.DOTALL)


def read_returned_number(path: Path, name: str) -> int | None:
    """Return the constant that a function returns, or None if it is missing or does anything else.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        _, code = _find_function(image, name)
    decode = _DECODERS.get(image.machine)
    return decode(code) if decode is not None else None


def freetype_version(path: Path) -> str:
    """Read the version of a FreeType, "2.13.3", which its `FT_New_Library` stores in what it makes; empty if unknown.

    The numbers stand behind a pointer, at 8, 12 and 16 (`FT_LibraryRec_` in ftobjs.h). Compilers store the first
    two of them one by one, or both at once.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        address, code = _find_function(image, "FT_New_Library")
        if image.machine not in KNOWN_CODE:
            return ""
        stores = [each.search(code) for each in _STORES]
        numbers = [int.from_bytes(found[1], "little") for found in stores if found is not None]
        load = _FROM_CONSTANT.search(code)
        if not any(stores[:2]) and load is not None:
            distance = int.from_bytes(load[1], "little", signed=True)
            numbers = [*struct.unpack("<II", image.read_at(address + load.end() + distance, 8)), *numbers]
    if len(numbers) != 3 or numbers[0] != 2:  # noqa: PLR2004 (FreeType 2, minor and patch)
        return ""
    return ".".join(map(str, numbers))


def _find_function(image: ElfImage, name: str) -> tuple[int, bytes]:
    """Find a function: its address and the beginning of its code; no code if it is missing."""
    symbols = find_symbols(image, name)
    address = next((fields[4] for _, fields in symbols if fields[4]), 0)
    return address, image.read_up_to(address, _LONGEST) if address else b""


def _decode_x86_return(code: bytes) -> int | None:
    found = _RETURNS.match(code)
    return int.from_bytes(found[1], "little") if found else None


def _decode_arm_return(code: bytes) -> int | None:
    words = [word for (word,) in struct.iter_unpack("<I", code[:16]) if word != _BTI]
    if len(words) < 3 or words[0] & ~_IMMEDIATE != _MOVE:  # noqa: PLR2004 (of up to four instructions)
        return None
    number = (words[0] & _IMMEDIATE) >> 5
    if words[1] & ~_IMMEDIATE == _MOVE_HIGH:
        number |= (words[1] & _IMMEDIATE) << 11
        words.pop(1)
    return number if words[1] == _RETURN else None


_DECODERS = {X86_64.machine: _decode_x86_return, AARCH64.machine: _decode_arm_return}
"""How each machine's code returns a constant."""

KNOWN_CODE = frozenset({X86_64.machine})
"""Machines whose other code is told: the stores of FreeType's version, mozjpeg 1.0's comparison, SIMD constants."""
