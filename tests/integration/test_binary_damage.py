"""Files from the real linker, damaged word by word. Each 300 times, and 20,000 times with --every-row."""

import shutil
from pathlib import Path

import pytest
from support.elf.damage import read_damaged
from support.elf.linked_files import METADATA, link_library, link_plain_library, link_program
from support.suite import extent

from fastinstall.elf.build_traces import read_details
from fastinstall.elf.isa.verdict import scan_isa
from fastinstall.elf.libraries import identify
from fastinstall.elf.loader.simulation import resolve_libraries

DAMAGES = 20_000 if extent.every_row else 300


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("damage")
    recorded = ("-frecord-gcc-switches", "-Wl,-z,x86-64-v3", "-Xlinker", f"--package-metadata={METADATA}")
    library = link_library(directory, "-O0", *recorded)
    return {
        "library": library,
        "old hash": link_plain_library(directory, "-O2", "-Wl,--hash-style=sysv"),
        "program": link_program(directory, library),
    }


@pytest.mark.parametrize("name", ["library", "old hash", "program"])
def test_no_damage_leads_to_another_exception_or_a_long_wait(files: dict[str, Path], tmp_path: Path, name: str) -> None:
    outcome = read_damaged(Path(shutil.copy(files[name], tmp_path)), name, DAMAGES, sometimes=(read_details,))
    assert outcome.longest < 1.0
    assert outcome.readings > 8 * DAMAGES
    assert outcome.problems["truncated"] > DAMAGES / 10
    assert outcome.problems["malformed"] > DAMAGES / 10


def test_what_is_told_from_several_readers_bears_damage_as_they_do(files: dict[str, Path], tmp_path: Path) -> None:
    path = Path(shutil.copy(files["library"], tmp_path))
    readers = (identify, resolve_libraries, scan_isa)
    outcome = read_damaged(path, "together", max(100, DAMAGES // 10), readers=readers)
    assert outcome.longest < 1.0
    assert outcome.problems.total() > 10
