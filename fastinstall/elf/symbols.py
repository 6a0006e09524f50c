"""The functions of an ELF file by name and first bytes, and the switches it was compiled with.

How symbols bind between libraries is not decided here, nor which instructions functions contain.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.elf.arm_frames import begins_unoptimised
from fastinstall.elf.dynamic_symbols import SYMBOL, symbol_entries
from fastinstall.elf.image import ElfError, ElfImage, Strings, open_image
from fastinstall.elf.sections import read_lines, read_sections

_FUNCTION = 2
_FEWEST_FUNCTIONS, _MOST_FUNCTIONS = 10, 8192
_LONGEST_SET_UP = 48

# push %rbp; mov %rsp,%rbp; saved registers; room on the stack; the first parameter stored into the
# frame. The last is what tells -O0 from an optimised build with -fno-omit-frame-pointer.
_UNOPTIMISED_X86 = re.compile(
    rb"(?:\xf3\x0f\x1e\xfa)?\x55\x48\x89\xe5"
    rb"(?:\x41[\x54-\x57]|\x53)*"
    rb"(?:\x48\x83(?:\xec.|\xc4\x80)|\x48\x81\xec.{4})?"
    rb"(?:\x48?\x89[\x7d\xbd]|[\xf2\xf3]\x0f\x11[\x45\x85])",
    re.DOTALL,
)
_UNOPTIMISED: dict[str, Callable[[bytes], object]] = {
    X86_64.machine: _UNOPTIMISED_X86.match,
    AARCH64.machine: begins_unoptimised,
}


def find_defined_names(path: Path, names: Iterable[str], *, exported: bool = False) -> frozenset[str]:
    """Return the names that a file defines, for others (.dynsym) or, where it is not stripped, itself (.symtab).

    Args:
        path: of an ELF file.
        names: that are looked for.
        exported: whether those for others alone count.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    wanted, found = tuple(names), set[str]()
    with open_image(path) as image:
        tables = [(symbol_entries(image), image.strings), *(() if exported else (read_static_table(image),))]
        for entries, strings in tables:
            offsets = strings.offsets(wanted)
            found.update(offsets[name] for name, _, _, _ in _list_defined(entries) if name in offsets)
    return frozenset(found)


def measure_unoptimised_share(path: Path) -> float | None:
    """Measure the share of functions that begin as `gcc -O0` begins them, 0.0 to 1.0.

    At -O0 every function sets up a frame and stores its parameters there: on Pillow's C files the
    share is 0.99, and at -O1, -Og, -O2, -O3 at most 0.02, with or without -fno-omit-frame-pointer
    (gcc 12.2). For aarch64 it is 0.98 (gcc 12.2) and 0.92 (clang 22), and at most 0.004. Functions without
    parameters do not count as unoptimised. Of more than 8,192 functions a part is looked at, spread evenly.

    Returns:
        None if it cannot be told: another machine, or too few functions.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
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
    """Read the compiler and its switches as `-frecord-gcc-switches` recorded them, one line per distinct set.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        return read_lines(image, ".GCC.command.line")


def _list_defined(entries: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield the name's offset, type, address and size of each symbol with a section of its own."""
    for name, information, _, section, address, size in SYMBOL.iter_unpack(entries):
        if section:
            yield name, information & 15, address, size


def _list_function_sizes(entries: bytes) -> dict[int, int]:
    """Return sizes of the functions by address; a function of two names counts once."""
    return {address: size for _, kind, address, size in _list_defined(entries) if kind == _FUNCTION and size}


def read_static_table(image: ElfImage) -> tuple[bytes, Strings]:
    """Return the symbols that linkers go by, and the strings that they name; nothing in a file that was stripped."""
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
