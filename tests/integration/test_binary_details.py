"""Details of how real ELF files were built, read from the files themselves."""

import subprocess
from pathlib import Path

import pytest
from support.elf.compiler import compile_library
from support.elf.linked_files import METADATA, link_library

from fastinstall.elf.description import BuildTraces
from fastinstall.elf.image import ElfError
from fastinstall.elf.imaging_core import read_details


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    flags = ("-O2", "-Wl,-z,x86-64-v2", "-Xlinker", f"--package-metadata={METADATA}")
    return link_library(tmp_path_factory.mktemp("details"), *flags)


def test_a_file_tells_how_it_was_made(library: Path) -> None:
    details = read_details(library)
    compiler = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    assert any(line.startswith("GCC: (") and compiler in line for line in details.compilers)
    assert details.package == {
        "type": "wheel",
        "name": "pillow",
        "version": "12.1.1",
        "levels": '["v2", "v3"]',
    }
    assert details.glibc == "2.29"
    assert not details.stripped


def test_a_stripped_file_keeps_its_metadata(library: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "libone.so"
    subprocess.run(["strip", "--remove-section=.comment", "-o", stripped, library], check=True)
    details = read_details(stripped)
    assert details.stripped
    assert details.compilers == ()
    assert details.package["name"] == "pillow"


def test_a_file_that_needs_nothing_has_no_floor(tmp_path: Path) -> None:
    library = compile_library(tmp_path / "libnone.so", "int one(void) { return 1; }", flags=("-Wl,-s", "-fno-ident"))
    assert read_details(library) == BuildTraces(compilers=(), glibc="", stripped=True, package={})


@pytest.mark.parametrize("metadata", ['{"name":', "[1]", "[" * 100_000], ids=["cut off", "no object", "deep"])
def test_metadata_that_are_no_object_are_malformed(tmp_path: Path, metadata: str) -> None:
    section = tmp_path / "package.s"
    section.write_text(
        '.section .note.package, "a", @note\n.align 4\n.long 4, 1f-0f, 0xcafe1a7e\n.asciz "FDO"\n'
        f'0: .ascii "{metadata.replace(chr(34), chr(92) + chr(34))}"\n1:\n.align 4\n'
    )
    library = tmp_path / "libone.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", library, section], check=True)
    with pytest.raises(ElfError, match="malformed"):
        read_details(library)
