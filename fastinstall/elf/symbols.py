"""Read the sections of an ELF file, the names and first bytes of its functions, and its recorded compiler switches.

Binding of symbols between libraries, and the instructions of functions, are left to other modules.
"""

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.core.values import immutable
from fastinstall.elf.dynamic_symbols import SYMBOL, symbol_entries
from fastinstall.elf.image import ElfError, ElfImage, Strings, open_image

_FUNCTION = 2
_FEWEST_FUNCTIONS, _MOST_FUNCTIONS = 10, 8192
_LONGEST_SET_UP = 48

# push %rbp; mov %rsp,%rbp; saved registers; room on the stack; the first parameter stored into the frame.
# The store distinguishes -O0 from an optimised build with -fno-omit-frame-pointer.
_UNOPTIMISED_X86 = re.compile(
    rb"(?:\xf3\x0f\x1e\xfa)?\x55\x48\x89\xe5"
    rb"(?:\x41[\x54-\x57]|\x53)*"
    rb"(?:\x48\x83(?:\xec.|\xc4\x80)|\x48\x81\xec.{4})?"
    rb"(?:\x48?\x89[\x7d\xbd]|[\xf2\xf3]\x0f\x11[\x45\x85])",
    re.DOTALL,
)


def find_defined_names(path: Path, names: Iterable[str], *, exported: bool = False) -> frozenset[str]:
    """Return the names in `names` that a file defines in its dynamic (.dynsym) or static (.symtab) symbol table.

    Args:
        path: the ELF file.
        names: the names to look for.
        exported: search .dynsym only, which has the symbols that other files can use.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    wanted, found = tuple(names), set[str]()
    with open_image(path) as image:
        tables = [(symbol_entries(image), image.strings), *(() if exported else (read_static_table(image),))]
        for entries, strings in tables:
            offsets = strings.offsets(wanted)
            found.update(offsets[name] for name, _, _, _ in _list_defined(entries) if name in offsets)
    return frozenset(found)


def measure_unoptimised_share(path: Path) -> float | None:
    """Return the share of a file's functions, 0.0 to 1.0, that begin as compilers begin functions at -O0.

    At -O0 every function sets up a frame and stores its parameters in the frame. Functions without parameters do not
    count as unoptimised. If a file has more than 8,192 functions, an evenly spaced sample is read.

    Measured on Pillow's C files for x86-64 with gcc 12.2: 0.99 at -O0; at most 0.02 at -O1, -Og, -O2 and -O3, with or
    without -fno-omit-frame-pointer. For aarch64: 0.98 (gcc 12.2) or 0.92 (clang 22) at -O0; at most 0.004 above -O0.

    Returns:
        The share, or None for machines other than x86-64 and aarch64 and for files with too few functions.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    with open_image(path) as image:
        unoptimised = _UNOPTIMISED.get(image.machine)
        if unoptimised is None:
            return None
        functions = _list_function_sizes(symbol_entries(image))
        if len(functions) < _FEWEST_FUNCTIONS:
            functions = _list_function_sizes(read_static_table(image)[0])
        if len(functions) < _FEWEST_FUNCTIONS:
            return None
        sample = list(functions.items())[:: -(-len(functions) // _MOST_FUNCTIONS)]
        starts = (image.read_at(address, min(size, _LONGEST_SET_UP)) for address, size in sample)
        return sum(bool(unoptimised(start)) for start in starts) / len(sample)


def compiler_switches(path: Path) -> tuple[str, ...]:
    """Return the compilers and switches that `-frecord-gcc-switches` recorded, one line per distinct set.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: the file cannot be opened.
    """
    with open_image(path) as image:
        return read_lines(image, ".GCC.command.line")


def _list_defined(entries: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield the offset of the name, the type, the address and the size of each defined symbol."""
    for name, information, _, section, address, size in SYMBOL.iter_unpack(entries):
        if section:
            yield name, information & 15, address, size


def _list_function_sizes(entries: bytes) -> dict[int, int]:
    """Map the address of each function to its size; a function with two names occurs once."""
    return {address: size for _, kind, address, size in _list_defined(entries) if kind == _FUNCTION and size}


def read_static_table(image: ElfImage) -> tuple[bytes, Strings]:
    """Return the entries and strings of the static symbol table (.symtab); both are empty if it was stripped."""
    sections = read_sections(image)
    section = next((section for section in sections if section.kind == STATIC_SYMBOLS), None)
    if section is None:
        return b"", Strings(image, b"")
    if section.link >= len(sections):
        raise ElfError(image.path, f"malformed: no section {section.link} for the symbols' names")
    names = sections[section.link]
    entries = image.read(section.offset, section.size - section.size % SYMBOL.size)
    return entries, Strings(image, image.read(names.offset, names.size))


STATIC_SYMBOLS = 2
_COMPRESSED, _LARGEST_TEXT = 0x800, 1 << 22
_PROGRAM_BITS, _NO_BITS = 1, 8
_EXECUTABLE = 4
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")


@immutable
class Section:
    """One section header.

    Attributes:
        name: the section's name, with its leading dot: ".rodata", ".symtab".
        kind: `sh_type`, as elf(5) numbers it.
        flags: `sh_flags`, a bit field.
        offset: where the section's content starts in the file, in bytes.
        size: size of the content in the file, in bytes; 0 for sections without content, such as .bss.
        link: `sh_link`: for a symbol table, the index of the section that contains the symbols' names.
    """

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int

    @property
    def has_code(self) -> bool:
        """Whether the section contains executable code."""
        return self.kind == _PROGRAM_BITS and bool(self.flags & _EXECUTABLE)


def read_sections(image: ElfImage) -> tuple[Section, ...]:
    """Return the section headers in order; empty if the file has none.

    Raises:
        ElfError: the headers or the section names are malformed or outside the file.
    """
    offset, one, count, names_index = image.section_headers
    if not offset or not count:
        return ()
    if one != _SECTION_HEADER.size:
        raise ElfError(image.path, f"malformed: section headers of {one} bytes")
    headers = list(_SECTION_HEADER.iter_unpack(image.read(offset, one * count)))
    if names_index >= count:
        raise ElfError(image.path, f"malformed: no section {names_index} for the sections' names")
    names = Strings(image, image.read(headers[names_index][4], headers[names_index][5]))
    return tuple(
        Section(
            name=names.text(name),
            kind=kind,
            flags=flags,
            offset=start,
            size=0 if kind == _NO_BITS else size,
            link=link,
        )
        for name, kind, flags, _, start, size, link, _, _, _ in headers
    )


def read_lines(image: ElfImage, name: str) -> tuple[str, ...]:
    """Return the distinct strings in a section, in order; empty if the section is absent or compressed.

    Args:
        name: the section's name, such as ".comment".

    Raises:
        ElfError: a section header is malformed, or the section is implausibly large.
    """
    for section in read_sections(image):
        if section.name == name and not section.flags & _COMPRESSED:
            if section.size > _LARGEST_TEXT:
                raise ElfError(image.path, f"implausibly large: {section.size} bytes in {name}")
            lines = image.read(section.offset, section.size).split(b"\0")
            return tuple(dict.fromkeys(line.decode("utf-8", "replace") for line in lines if line))
    return ()


# At -O0 an aarch64 function sets up a frame and then stores its first parameter in the frame. Between these two steps
# it only saves registers and, with `-fstack-protector`, loads the stack guard's value. Source: Arm Architecture
# Reference Manual for A-profile (DDI 0487), chapter C4.
_HINTS = (0xD503245F, 0xD503233F)  # bti c, paciasp
_LOWERS_STACK = (0xFF8003FF, 0xD10003FF)  # sub sp,sp,#number
_SETS_FRAME = (0xFF8003FF, 0x910003FD)  # add x29,sp,#number, including mov x29,sp
_SAVES_PAIR = (0x3A4003E0, 0x280003E0)  # stp of any registers to an address based on sp
_LOADS_GUARD = ((0x9F000000, 0x90000000), (0xFFC00000, 0xF9400000))  # adrp; ldr of a pointer
_STORES = (  # str and stur of general and scalar floating-point registers, and of whole vector registers
    (0x3BC00000, 0x39000000),
    (0xFFC00000, 0x3D800000),
    (0x3BE00C00, 0x38000000),
    (0xFFE00C00, 0x3C800000),
)
_FRAME_REGISTERS = (29, 31)  # x29, sp
_REGISTER = 31
_FIRST_SAVED = 19  # an stp only counts as saving registers if its first register is x19 or higher
_FIRST_OTHER = 8  # x0 to x7 hold parameters; x8 and higher registers do not


def begins_unoptimised(code: bytes) -> bool:
    """Return whether the code of an aarch64 function begins as compilers begin functions at -O0.

    The first 48 bytes of the code are enough. The result is False for a function without parameters.
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
    """Return the number of the register that an instruction stores into the frame; None for other instructions."""
    framed = word >> 5 & _REGISTER in _FRAME_REGISTERS
    return word & _REGISTER if framed and any(_is(word, pattern) for pattern in _STORES) else None


def _prepares(word: int) -> bool:
    return word in _HINTS or _is(word, _SETS_FRAME) or any(_is(word, pattern) for pattern in _LOADS_GUARD)


_UNOPTIMISED: dict[str, Callable[[bytes], object]] = {
    X86_64.machine: _UNOPTIMISED_X86.match,
    AARCH64.machine: begins_unoptimised,
}
