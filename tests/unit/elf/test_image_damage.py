"""Whatever stands in a file, every reader ends soon, with an answer or an ElfError."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.elf.damage import READERS, Reader, read_damaged, symbols_among
from support.elf.writer import FRAME, PLAIN, Elf, each_damaged

from fastinstall.elf.build_traces import read_details
from fastinstall.elf.image import ElfError, ForeignElfError
from fastinstall.elf.symbols import compiler_switches

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
