"""Find the CPU extensions that a file's code for aarch64 uses, by the encodings of its instructions.

If any code in a file asks the CPU for its features, all extensions that the file uses count as optional, because it is
unknown which functions run only after a check. Only extensions that compilers use on their own are recognised.
Extensions are named as in /proc/cpuinfo.
Source: Arm Architecture Reference Manual for A-profile (DDI 0487), chapter C4, "A64 Instruction Set Encoding".
"""

import struct
from collections import Counter
from dataclasses import replace
from pathlib import Path

from fastinstall.core.architecture import AARCH64
from fastinstall.elf.description import Confidence, IsaScan
from fastinstall.elf.dynamic_symbols import SYMBOL, read_relocations, symbol_entries
from fastinstall.elf.image import EXECUTABLE, LOAD, ElfError, ElfImage, open_image
from fastinstall.elf.symbols import read_sections

_INDIRECT = 1032  # R_AARCH64_IRELATIVE
_ASKING = frozenset({"getauxval", "__getauxval"})


def complete_scan(scan: IsaScan) -> IsaScan:
    """Add two sets to a scan: extensions that its file always uses, and those that it uses only after asking the CPU.

    Raises:
        ElfError: the file is malformed.
        OSError: the file cannot be read.
    """
    with open_image(Path(scan.path)) as image:
        code = _read_code(image)
        found: Counter[str] = sum(map(count_features, code), Counter())
        asks = _imports_answers(image) or any(map(asks_cpu, code))
    decoded = sum(map(len, code)) // 4 or 1
    named = tuple(sorted(found))
    told = "asks the CPU what it has: what runs only then is not told apart" if asks else "asks the CPU nothing"
    return replace(
        scan,
        confidence=Confidence.LIKELY,
        requires=() if asks else named,
        contains=named if asks else (),
        level=AARCH64.levels[0].name if asks or not named else None,
        shares={feature: round(found[feature] / decoded, 6) for feature in named},
        instructions=decoded,
        evidence=(told, f"looked for: {', '.join(TOLD_APART)}; other extensions are not told apart"),
    )


def _read_code(image: ElfImage) -> list[bytes]:
    """Return the content of the sections with code, or of the executable segments if the file has no such sections.

    Raises:
        ElfError: the sections overlap, so that together they are larger than the file.
    """
    places = [(each.offset, each.size) for each in read_sections(image) if each.has_code]
    places = places or [(each.offset, each.size) for each in image.of_kind(LOAD) if each.flags & EXECUTABLE]
    if sum(size for _, size in places) > image.size:
        raise ElfError(image.path, "malformed: more code than the file has bytes")
    return [image.read(offset, size) for offset, size in places]


def _imports_answers(image: ElfImage) -> bool:
    """Return whether the file imports getauxval, or has functions that a resolver chooses at load time (IRELATIVE)."""
    entries = SYMBOL.iter_unpack(symbol_entries(image))
    names = {image.strings.text(name) for name, _, _, section, _, _ in entries if name and not section}
    return not _ASKING.isdisjoint(names) or any(kind == _INDIRECT for _, kind, _, _ in read_relocations(image))


TOLD_APART = ("atomics", "crc32", "asimdrdm", "asimdhp", "asimdfhm", "asimddp", "i8mm", "bf16", "sve")
_ENCODINGS = (
    # LSE: CAS and CASP; LDADD to LDUMIN, SWP and their stores
    ("atomics", 0x3FA07C00, 0x08A07C00),
    ("atomics", 0xBFA07C00, 0x08207C00),
    ("atomics", 0x3F208C00, 0x38200000),
    ("atomics", 0x3F20FC00, 0x38208000),
    ("crc32", 0x7FE0E000, 0x1AC04000),
    ("asimdrdm", 0xBF20F400, 0x2E008400),  # SQRDMLAH and SQRDMLSH of vectors, of scalars, by an element
    ("asimdrdm", 0xFF20F400, 0x7E008400),
    ("asimdrdm", 0xAF00D400, 0x2F00D000),
    # half precision, for vectors: three registers; two registers; across lanes; by an element; immediates; fixed point
    ("asimdhp", 0x9F60C400, 0x0E400400),
    ("asimdhp", 0x9F7E0C00, 0x0E780800),
    ("asimdhp", 0xBF7FCC00, 0x0E30C800),
    ("asimdhp", 0xBFC0B400, 0x0F001000),
    ("asimdhp", 0x9FC0F400, 0x0F009000),
    ("asimdhp", 0xBFF8FC00, 0x0F00FC00),
    ("asimdhp", 0x9FF0E400, 0x0F10E400),
    # half precision, for scalars in vector registers: three registers; two registers; pairwise; by an element; fixed
    # point
    ("asimdhp", 0xDF60C400, 0x5E400400),
    ("asimdhp", 0xDF7E0C00, 0x5E780800),
    ("asimdhp", 0xFF7FCC00, 0x5E30C800),
    ("asimdhp", 0xFFC0B400, 0x5F001000),
    ("asimdhp", 0xDFC0F400, 0x5F009000),
    ("asimdhp", 0xDFF0E400, 0x5F10E400),
    # half precision, scalar floating-point instructions: fixed point; integers; one register (without FCVT between
    # precisions, which every CPU has); comparisons; immediates; conditional comparison, two registers, conditional
    # selection; three registers
    ("asimdhp", 0x7FE00000, 0x1EC00000),
    ("asimdhp", 0x7FE0FC00, 0x1EE00000),
    ("asimdhp", 0xFFFE7C00, 0x1EE04000),
    ("asimdhp", 0xFFFC7C00, 0x1EE44000),
    ("asimdhp", 0xFFE0FC07, 0x1EE02000),
    ("asimdhp", 0xFFE01C00, 0x1EE01000),
    ("asimdhp", 0xFFE00C00, 0x1EE00400),
    ("asimdhp", 0xFFE00800, 0x1EE00800),
    ("asimdhp", 0xFFC00000, 0x1FC00000),
    ("asimdfhm", 0xBF60FC00, 0x0E20EC00),
    ("asimdfhm", 0xBF60FC00, 0x2E20CC00),
    ("asimdfhm", 0xBFC0B400, 0x0F800000),
    ("asimdfhm", 0xBFC0B400, 0x2F808000),
    ("asimddp", 0x9FE0FC00, 0x0E809400),
    ("asimddp", 0x9FC0F400, 0x0F80E000),
    ("i8mm", 0xDFE0F400, 0x4E80A400),
    ("i8mm", 0xBFE0FC00, 0x0E809C00),
    ("i8mm", 0xBF40F400, 0x0F00F000),
    ("bf16", 0xBF60FC00, 0x2E40FC00),
    ("bf16", 0xFFE0FC00, 0x6E40EC00),
    ("bf16", 0xBF40F400, 0x0F40F000),
    ("bf16", 0xFFFFFC00, 0x1E634000),
    ("bf16", 0xBFFFFC00, 0x0EA16800),
    # 0010 in bits 28 to 25: SVE, including SVE2
    ("sve", 0x1E000000, 0x04000000),
)

# PTRUE, WHILE, CNT and INC, RDVL: SVE code for any vector length needs one of these; data rarely looks like them
_SCALABLE = ((0xFF3FFC10, 0x2518E000), (0xFF20E000, 0x25200000), (0xFF20F000, 0x0420E000), (0xFFFFF800, 0x04BF5000))

# the instruction MRS, if it reads a register with the CPU's features
_QUESTION = (0xFFFFF000, 0xD5380000)


def count_features(code: bytes) -> Counter[str]:
    """Count the instructions of each extension; SVE counts only beside an instruction that all SVE code needs."""
    found: Counter[str] = Counter()
    words = Counter(word for (word,) in struct.iter_unpack("<I", code[: len(code) // 4 * 4]))
    for word, times in words.items():
        feature = next((name for name, mask, value in _ENCODINGS if word & mask == value), "")
        if feature:
            found[feature] += times
    if found["sve"] and not any(word & mask == value for word in words for mask, value in _SCALABLE):
        del found["sve"]
    return +found


def asks_cpu(code: bytes) -> bool:
    """Return whether machine code reads the CPU's feature registers; the kernel emulates these reads for programs."""
    mask, value = _QUESTION
    return any(word & mask == value for (word,) in struct.iter_unpack("<I", code[: len(code) // 4 * 4]))
