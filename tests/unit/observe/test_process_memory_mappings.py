"""The kernel's list of what a process has mapped."""

import pytest

from fastinstall.observe.process_memory import Mapping, read_mappings

CODE = "7f0000001000-7f0000005000 r-xp 00001000 fe:00 26723                      "


def mapping(line: str) -> Mapping:
    (found,) = read_mappings([line])
    return found


def test_a_line_is_read_whole() -> None:
    assert mapping(CODE + "/a b/libz.so.1.2.13") == Mapping(
        start=0x7F0000001000,
        end=0x7F0000005000,
        is_executable=True,
        offset=0x1000,
        inode=26723,
        path="/a b/libz.so.1.2.13",
        is_deleted=False,
    )


def test_a_file_without_a_name_keeps_the_one_that_it_had() -> None:
    found = mapping(CODE + "/a/core.so (deleted)")
    assert (found.path, found.is_deleted, found.is_file) == ("/a/core.so", True, True)


def test_data_is_not_executable() -> None:
    assert not mapping("7f0000001000-7f0000005000 rw-p 00000000 00:00 0 ").is_executable


@pytest.mark.parametrize("name", ["", "[stack]", "[vdso]", "/memfd:libffi (deleted)", "/dev/zero (deleted)", "/SYSV0"])
def test_memory_is_no_file(name: str) -> None:
    assert not mapping(CODE + name).is_file


def test_a_line_break_in_a_name_is_restored() -> None:
    assert mapping(CODE + "/a\\012b.so").path == "/a\nb.so"


def test_other_lines_are_passed_over() -> None:
    assert list(read_mappings(["", "hello", '{"event": "end"}', "7f-", CODE.upper()])) == []
