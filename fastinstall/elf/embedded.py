"""What a compiled file tells of the libraries in it: its constants, the functions that it exports, and their versions.

How one library is recognised by that, `elf.libraries` decides. Some libraries tell their version only when asked; that
is read from the code that would answer, without running it. Such a function has to do nothing but return a constant, or
store three of them. If its code is not of a known form, the version is unknown.
"""

import re
import struct
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import dynamic_entries
from fastinstall.elf.image import EXECUTABLE, LOAD, ElfImage, open_image
from fastinstall.elf.lookup import find_all_definitions, find_symbols


@immutable
class SearchedFile:
    """A file as it is searched for libraries.

    Attributes:
        path: the file.
        machine: what it is for, as the kernel names it: "x86_64", "aarch64".
        constants: what is mapped for reading alone, its strings among it.
        offered: which of the functions that were asked about it defines for others.
    """

    path: Path
    machine: str
    constants: bytes
    offered: frozenset[str]

    def text(self, pattern: re.Pattern[bytes]) -> str:
        """Return the first group of a pattern's first match, or "" if nothing matches.

        A pattern that begins with a literal is searched for by that, at a speed of gigabytes a second.
        """
        match = pattern.search(self.constants)
        return match[1].decode("ascii", "replace") if match else ""


@immutable
class Identity:
    """A library that was found in a file. What cannot be told is empty or None.

    Attributes:
        kind: "jpeg", "zlib", "tiff", "openjpeg", "webp", "freetype", "lcms2".
        implementation: "libjpeg-turbo", "mozjpeg", "IJG libjpeg"; "zlib", "zlib-ng", "zlib-ng compat";
            "libtiff" and so on; empty if none of the marks is there.
        version: of the implementation, as far as its marks tell: "3.1.3", "9e", but "1.3" of a libjpeg-turbo
            that says no more than that.
        simd: of a libjpeg, whether it contains SIMD code.
        abi: of a libjpeg, the interface that it offers: "62", "70", "80", "90".
        inside: it is linked into the file, and its functions are offered to nobody.
    """

    kind: str
    implementation: str
    version: str = ""
    simd: bool | None = None
    abi: str = ""
    inside: bool = False


def read_contents(path: Path, functions: tuple[str, ...]) -> SearchedFile:
    """Read the constants of a file; of the code nothing, where the linker kept it apart.

    Args:
        path: the file.
        functions: which to look for among those that it defines for others.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        machine, constants = image.machine, image.constants()
    offered = (name for name, definitions in find_all_definitions(path, functions).items() if definitions)
    return SearchedFile(path=path, machine=machine, constants=constants, offered=frozenset(offered))


def read_code(path: Path) -> bytes:
    """What is mapped to be run; for the few questions that constants do not answer.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        code = (segment for segment in image.of_kind(LOAD) if segment.flags & EXECUTABLE)
        return b"".join(image.read(segment.offset, segment.size) for segment in code)


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
    if image.machine == "aarch64":
        return _decode_arm_return(code)
    found = _RETURNS.match(code) if image.machine == "x86_64" else None
    return int.from_bytes(found[1], "little") if found else None


def freetype_version(path: Path) -> str:
    """The version of a FreeType, "2.13.3", which its `FT_New_Library` stores in what it makes; empty if unknown.

    The numbers stand behind a pointer, at 8, 12 and 16 (`FT_LibraryRec_` in ftobjs.h). Compilers store the first
    two of them one by one, or both at once.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        address, code = _find_function(image, "FT_New_Library")
        if image.machine != "x86_64":
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
    """The address of a function and the beginning of its code; none if it is missing."""
    symbols = find_symbols(image, dict(dynamic_entries(image)), name)
    address = next((fields[4] for _, fields in symbols if fields[4]), 0)
    return address, image.read_up_to(address, _LONGEST) if address else b""


def _decode_arm_return(code: bytes) -> int | None:
    words = [word for (word,) in struct.iter_unpack("<I", code[:16]) if word != _BTI]
    if len(words) < 3 or words[0] & ~_IMMEDIATE != _MOVE:  # noqa: PLR2004 (of up to four instructions)
        return None
    number = (words[0] & _IMMEDIATE) >> 5
    if words[1] & ~_IMMEDIATE == _MOVE_HIGH:
        number |= (words[1] & _IMMEDIATE) << 11
        words.pop(1)
    return number if words[1] == _RETURN else None
