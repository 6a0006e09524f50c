"""Whatever a file contains, every reader ends soon, with an answer or an ElfError."""

import os
import random
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.elf.writer import FRAME, PLAIN, Elf, each_damaged

from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import DYNAMIC, ElfError, ForeignElfError, open_image
from fastinstall.elf.imaging_core import read_details
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
    """Call `read_sections` with a path."""
    with open_image(path) as image:
        return read_sections(image)


def definitions_of(path: Path) -> object:
    """Call `find_all_definitions` for names that exist and one that does not."""
    return find_all_definitions(path, NAMES)


def symbols_among(path: Path) -> object:
    """Call `find_defined_names` for names that exist and one that does not."""
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
    """Results of reading damaged files: how often each problem occurred, and the time of the slowest reading."""

    readings: int
    problems: Counter[str]
    longest: float


def read_damaged(
    path: Path, seed: str, count: int, *, readers: Sequence[Reader] = READERS, sometimes: Sequence[Reader] = ()
) -> Outcome:
    """Damage a file in place `count` times, and read it with every reader each time.

    An exception other than ElfError is re-raised, with the damage in its notes. The slow readers, in `sometimes`, read
    only every twentieth damaged file.
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
    """Damage a file `count` times by overwriting one to four words or truncating it.

    Yields the overwritten words while the file is damaged, and then restores the file.
    """
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
    """Return the positions of words, by table; program code and data are left out.

    The tables are the file header, the program headers, the section headers, and the other sections.
    """
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


WHOLE = Elf(
    soname="libone.so.1",
    needed=("libc.so.6", "libm.so.6"),
    runpath="$ORIGIN",
    interpreter="/lib64/ld-linux-x86-64.so.2",
    isa="x86-64-v3",
    build_id=bytes.fromhex("a7516ae81afc84"),
    exported={"scale@OLD_1": PLAIN, "scale@@NEW_2": PLAIN, "shown": FRAME}
    | {f"more_{number}": FRAME for number in range(9)},
    imported=("malloc@GLIBC_2.2.5:libc.so.6", "pow@GLIBC_2.29:libm.so.6", "hook"),
    weak=("hook",),
    static={"hidden": PLAIN},
    switches=("GNU C17 -O3",),
    buckets=3,
)
STRIPPED = replace(WHOLE, static={}, switches=())


@pytest.mark.parametrize("system_v_hash", [False, True])
def test_no_damage_leads_to_another_exception_or_a_long_wait(tmp_path: Path, *, system_v_hash: bool) -> None:
    elf = WHOLE if not system_v_hash else Elf(exported=WHOLE.exported, imported=WHOLE.imported, system_v_hash=True)
    outcome = read_damaged(elf.write(tmp_path / "libone.so"), f"written {system_v_hash}", 400)
    assert outcome.longest < 1.0
    assert outcome.problems["truncated"] > 10
    assert outcome.problems["malformed"] > 100


@pytest.mark.parametrize("read", READERS, ids=lambda read: str(read.__name__))
def test_a_changed_byte_is_an_elf_error_or_another_answer(tmp_path: Path, read: Reader) -> None:
    path = WHOLE.write(tmp_path / "lib.so")
    problems = 0
    for _ in each_damaged(path, step=2):
        try:
            read(path)
        except ElfError:
            problems += 1
    assert problems > 20


@pytest.mark.parametrize("read", READERS, ids=lambda read: str(read.__name__))
def test_a_file_that_ends_early_is_an_elf_error_at_every_length(tmp_path: Path, read: Reader) -> None:
    path = STRIPPED.write(tmp_path / "lib.so")
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        with pytest.raises(ElfError):
            read(path)


@pytest.mark.parametrize("read", [symbols_among, compiler_switches])
def test_truncated_sections_are_an_elf_error_where_they_are_read(tmp_path: Path, read: Reader) -> None:
    path = WHOLE.write(tmp_path / "lib.so")
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        with pytest.raises(ElfError):
            read(path)


@pytest.mark.parametrize("read", [*READERS, read_details], ids=lambda read: str(read.__name__))
def test_every_reader_refuses_all_but_64_bit_elf_files(tmp_path: Path, read: Reader) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(ElfError, match="not a regular file"):
            read(path)
    path = tmp_path / "lib.so"
    for content in (b"", b"\x7f", b"GROUP ( libc.so.6 )", WHOLE.content()[:100]):
        path.write_bytes(content)
        with pytest.raises(ElfError):
            read(path)
    for position, value in ((4, 1), (5, 2)):
        path.write_bytes(WHOLE.content()[:position] + bytes([value]) + WHOLE.content()[position + 1 :])
        with pytest.raises(ForeignElfError):
            read(path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing.so")


@pytest.mark.parametrize("read", [*READERS, read_details], ids=lambda read: str(read.__name__))
def test_every_reader_reads_files_of_other_64_bit_machines(tmp_path: Path, read: Reader) -> None:
    read(Elf(machine=183, exported=WHOLE.exported, switches=WHOLE.switches).write(tmp_path / "lib.so"))
