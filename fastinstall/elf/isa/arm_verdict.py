"""What the code of a file for aarch64 asks of a CPU, by the encodings of its instructions.

What runs only after a question to the CPU is not told apart from the rest: a file that asks is taken to ask for all.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from fastinstall.core.architecture import AARCH64
from fastinstall.elf.description import Confidence, IsaScan
from fastinstall.elf.dynamic_symbols import JMPREL, PLTRELSZ, RELA, RELASZ, SYMBOL, symbol_entries
from fastinstall.elf.image import EXECUTABLE, LOAD, ElfError, ElfImage, open_image
from fastinstall.elf.isa.arm_features import TOLD_APART, asks_cpu, count_features
from fastinstall.elf.sections import read_sections

_PROGRAM_BITS, _EXECUTABLE_SECTION = 1, 4
_INDIRECT = 1032  # R_AARCH64_IRELATIVE
_RELOCATION = 24
_ASKING = frozenset({"getauxval", "__getauxval"})


def complete_scan(scan: IsaScan) -> IsaScan:
    """Return a scan with the extensions that a file requires, or holds behind questions to the CPU.

    Raises:
        ElfError: the file is malformed.
        OSError: it cannot be read.
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
    """Return the sections with code; where none is named, the executable segments.

    Raises:
        ElfError: they are more than the file's bytes.
    """
    named = (each for each in read_sections(image) if each.kind == _PROGRAM_BITS)
    places = [(each.offset, each.size) for each in named if each.flags & _EXECUTABLE_SECTION]
    places = places or [(each.offset, each.size) for each in image.of_kind(LOAD) if each.flags & EXECUTABLE]
    if sum(size for _, size in places) > image.size:
        raise ElfError(image.path, "malformed: more code than the file has bytes")
    return [image.read(offset, size) for offset, size in places]


def _imports_answers(image: ElfImage) -> bool:
    """Return whether another file tells it what the CPU has, or the loader chooses functions by that."""
    entries = SYMBOL.iter_unpack(symbol_entries(image))
    names = {image.strings.text(name) for name, _, _, section, _, _ in entries if name and not section}
    return not _ASKING.isdisjoint(names) or any(
        image.read_at(image.tags[table] + 8 + _RELOCATION * index, 4) == _INDIRECT.to_bytes(4, "little")
        for table, length in ((RELA, RELASZ), (JMPREL, PLTRELSZ))
        if table in image.tags
        for index in range(image.tags.get(length, 0) // _RELOCATION)
    )
