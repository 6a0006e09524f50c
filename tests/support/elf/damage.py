"""Damage done to ELF files, word by word, and how every reader of them bears it."""

import os
import random
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import DYNAMIC, ElfError, open_image
from fastinstall.elf.lookup import find_all_definitions, read_versions, references
from fastinstall.elf.symbols import (
    Section,
    compiler_switches,
    find_defined_names,
    measure_unoptimised_share,
    read_sections,
)

Reader = Callable[[Path], object]

NAMES = ("shown", "scale", "malloc", "jpeg_read_header", "no_such_name")
SMALL = (0, 1, 2, 3, 4, 7, 8, 0x10, 0x18, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000)
LARGE = (0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
LAYOUTS = (struct.Struct("<B"), struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q"))
SOMETIMES = 20
PROGRAM_BITS = 1


def sections_of(path: Path) -> tuple[Section, ...]:
    """`read_sections`, with a path."""
    with open_image(path) as image:
        return read_sections(image)


def definitions_of(path: Path) -> object:
    """`find_all_definitions`, of names that are there and one that is not."""
    return find_all_definitions(path, NAMES)


def symbols_among(path: Path) -> object:
    """`find_defined_names`, of names that are there and one that is not."""
    return find_defined_names(path, NAMES)


READERS: tuple[Reader, ...] = (
    read_dynamic,
    sections_of,
    symbols_among,
    measure_unoptimised_share,
    compiler_switches,
    read_versions,
    definitions_of,
    references,
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What readers made of damaged files: the problems by their first words, and the longest time of one reading."""

    readings: int
    problems: Counter[str]
    longest: float


def read_damaged(
    path: Path, seed: str, count: int, *, readers: Sequence[Reader] = READERS, sometimes: Sequence[Reader] = ()
) -> Outcome:
    """Damage a file in place `count` times, and read it with every reader each time.

    An exception other than ElfError goes through, with the damage in its notes. Slow readers come in
    `sometimes`, once in twenty times.
    """
    problems: Counter[str] = Counter()
    longest, readings = 0.0, 0
    for number, patches in enumerate(damages(path, seed, count)):
        for reader in (*readers, *sometimes) if number % SOMETIMES == 0 else readers:
            start = time.process_time()
            readings += 1
            try:
                reader(path)
            except ElfError as error:
                problems[error.problem.partition(":")[0]] += 1
            except Exception as error:
                error.add_note(f"{reader.__name__}, {seed}, damage {number}: {patches}")
                raise
            longest = max(longest, time.process_time() - start)
    return Outcome(readings=readings, problems=problems, longest=longest)


def damages(path: Path, seed: str, count: int) -> Iterator[list[tuple[int, bytes]]]:
    """Write one to four other words into a file, or cut it off; yields what, and undoes it."""
    chance = random.Random(seed)  # noqa: S311 (the same damage in every run)
    content = path.read_bytes()
    tables = _places(path, content)
    with path.open("r+b", buffering=0) as stream:
        for _ in range(count):
            patches = [_patch(chance, content, tables) for _ in range(chance.choice((1, 1, 1, 2, 4)))]
            for place, word in patches:
                os.pwrite(stream.fileno(), word, place)
            if chance.random() < 0.03:
                stream.truncate(chance.randrange(len(content)))
            yield patches
            stream.truncate(len(content))
            os.pwrite(stream.fileno(), content, 0)


def _places(path: Path, content: bytes) -> list[list[int]]:
    """The words of each table: file header, program headers, and all that is no code or data of the program's own."""
    with open_image(path) as image:
        start, one, count, _ = image.section_headers
        tables = [(0, 64), (64, 56 * len(image.segments)), (start, one * count)]
        tables += [(section.offset, section.size) for section in read_sections(image) if section.kind != PROGRAM_BITS]
        tables += [(segment.offset, segment.size) for segment in image.of_kind(DYNAMIC)]
    last = len(content) - 8
    words = (range(begin, min(begin + size, last), 4) for begin, size in tables)
    used = ([place for place in places if place < 1024 or any(content[place : place + 4])] for places in words)
    return [places for places in used if places]


def _patch(chance: random.Random, content: bytes, tables: Sequence[Sequence[int]]) -> tuple[int, bytes]:
    layout = chance.choice(LAYOUTS)
    place, other = (chance.choice(chance.choice(tables)) for _ in range(2))
    (word,) = layout.unpack_from(content, place)
    value = chance.choice(
        (
            chance.choice(SMALL + LARGE),
            word + chance.choice((-8, -2, -1, 1, 2, 8, 16, 24, 4096)),
            word ^ 1 << chance.randrange(64),
            chance.getrandbits(64),
            place,
            other,
            len(content) - chance.randrange(64),
            layout.unpack_from(content, other)[0],
        )
    )
    return place, layout.pack(value % (1 << 8 * layout.size))
