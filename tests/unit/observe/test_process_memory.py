"""What a process may have in the place of a file of PIL's: no table of it is believed."""

import struct
from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.observe.process_memory import read_bindings, read_mappings

FILE = "/srv/env/lib/python3.11/site-packages/PIL/_imaging.so"


def _memory(directory: Path, *tags: tuple[int, int], header: bytes = b"\x7fELF\x02\x01") -> Path:
    """A file whose bytes stand for a memory that begins at 0: a header, one program header, a dynamic section."""
    start = struct.pack("<32sQ14xHH", header, 64, 56, 1).ljust(64, b"\0")
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    program = struct.pack("<IIQQQQQQ", 2, 0, 0, 120, 0, len(dynamic), len(dynamic), 8)
    path = directory / "mem"
    path.write_bytes((start + program + dynamic).ljust(4096, b"\0"))
    return path


@pytest.mark.parametrize(
    ("tags", "header"),
    [
        pytest.param((), b"\x7fELF\x01\x01", id="32-bit"),
        pytest.param((), b"junk", id="no ELF"),
        pytest.param(((5, 8), (10, 1 << 40)), b"\x7fELF\x02\x01", id="huge table"),
        pytest.param(((5, (1 << 64) - 9), (10, 8)), b"\x7fELF\x02\x01", id="end of memory"),
        pytest.param(((7, 9000), (8, 24)), b"\x7fELF\x02\x01", id="unmapped"),
    ],
)
def test_what_is_no_table_is_an_error_that_says_so(
    tmp_path: Path, tags: tuple[tuple[int, int], ...], header: bytes, golden: Golden
) -> None:
    mappings = tuple(read_mappings((f"00000000-00001000 r-xp 00000000 fe:00 7 {FILE}",)))
    with pytest.raises(ValueError, match=r"ELF|0x") as caught:
        read_bindings(_memory(tmp_path, *tags, header=header), mappings, "jpeg_")
    golden(caught.value)


def test_a_file_without_references_has_no_bindings(tmp_path: Path) -> None:
    mappings = tuple(read_mappings((f"00000000-00001000 r-xp 00000000 fe:00 7 {FILE}",)))
    assert read_bindings(_memory(tmp_path), mappings, "jpeg_") == ()
