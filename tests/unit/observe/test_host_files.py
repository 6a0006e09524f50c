"""Other machines, observed from copies of their files."""

from pathlib import Path

import pytest
from support.values.builders import healthy_facts

from fastinstall.cli.commands.inspect import redact
from fastinstall.core.codec import document, dump
from fastinstall.core.errors import DocumentError
from fastinstall.observe.host_files import read_host

MACHINES = Path(__file__).parents[2] / "cases" / "machines"


def written(directory: Path, text: str, name: str = "node7.txt") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_document_of_inspect_describes_a_host(tmp_path: Path) -> None:
    facts = healthy_facts()
    host = read_host(written(tmp_path, dump(document("facts", facts)), "node7.json"))
    assert (host.name, host.cpu) == ("node7", facts.cpu)


def test_a_redacted_one_does_too(tmp_path: Path) -> None:
    facts = redact(healthy_facts(), home=Path("/srv/images"), user="images")
    assert read_host(written(tmp_path, dump(document("facts", facts)))).cpu == healthy_facts().cpu


@pytest.mark.parametrize(
    ("machine", "architecture", "level"),
    [
        ("nehalem-server", "x86_64", "x86-64-v2"),
        ("haswell-desktop", "x86_64", "x86-64-v3"),
        ("core2-desktop", "x86_64", "x86-64-v1"),
        ("graviton", "aarch64", "armv8-a"),
    ],
)
def test_a_copy_of_cpuinfo_describes_a_host(machine: str, architecture: str, level: str | None) -> None:
    host = read_host(MACHINES / machine / "proc" / "cpuinfo")
    assert (host.cpu.architecture, host.cpu.level) == (architecture, level)
    assert host.cpu.flags


def test_a_list_of_flags_describes_a_host_and_may_have_comments(tmp_path: Path) -> None:
    text = "# the old nodes\ncx16 lahf_lm popcnt pni\nssse3 sse4_1 sse4_2 # no avx\n"
    host = read_host(written(tmp_path, text))
    assert host.cpu.level == "x86-64-v2"
    assert "sse2" in host.cpu.flags
    assert "avx" not in host.cpu.flags


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        ('{"schema": "fastinstall.facts/2"}', "schema", "expected 'fastinstall.facts/1'"),
        ('{"schema": "fastinstall.facts/1"}', "cpu", "missing"),
        ('{"schema": "fastinstall.facts/1", "cpu": {"flags": 3}}', "cpu.flags", "expected a list"),
        ('{"schema": "fastinstall.facts/1", "cpu": null}', "cpu", "expected a table"),
        ('{"schema": ', "", "is not JSON"),
        ("[1, 2]\n", "", "is not a processor flag"),
        ("", "", "has no flag"),
        ("# nothing but a comment\n", "", "has no flag"),
        ("hello world\n", "", "has no flag"),
        ("processor\t: 0\nvendor_id\t: GenuineIntel\n", "flags", "missing"),
    ],
)
def test_anything_else_is_refused_with_file_key_and_hint(tmp_path: Path, text: str, key: str, problem: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DocumentError) as caught:
        read_host(path)
    assert (caught.value.file, caught.value.key) == (path, key)
    assert problem in caught.value.problem
    assert "fastinstall inspect --json" in (caught.value.hint or "")


WHOLE = "processor\t: {number}\nflags\t\t: fpu sse2 pni ssse3 sse4_1 avx avx2\nbugs\t\t:\n\n"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param(WHOLE.format(number=0).partition("avx2")[0], "flags", id="in a flag"),
        pytest.param(WHOLE.format(number=0).partition(" avx2")[0], "flags", id="after a flag"),
        pytest.param(WHOLE.format(number=0).partition(" avx2")[0] + "\n", "flags", id="with a line break"),
        pytest.param(WHOLE.format(number=0).partition("\nbugs")[0], "flags", id="after the flags"),
        pytest.param(WHOLE.format(number=0) + WHOLE.format(number=1).partition("vx2")[0], "flags", id="second core"),
        pytest.param("flags\t\t: fpu sse2 pni ssse", "flags", id="one line"),
        pytest.param("processor\t: 0\nFeatures\t: fp asimd aes", "flags", id="Arm"),
        pytest.param("# list\ncx16 popcnt sse4_", "", id="list"),
    ],
)
def test_a_copy_cut_off_in_the_middle_of_its_flags_is_refused(tmp_path: Path, text: str, key: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DocumentError, match="copy it again" if key else "no line break") as caught:
        read_host(path)
    assert (caught.value.file, caught.value.key) == (path, key)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.format(number=0),
        WHOLE.format(number=0) + WHOLE.format(number=1),
        WHOLE.format(number=0).replace("\n", "\r\n"),
        WHOLE.format(number=0) + WHOLE.format(number=1).partition("bugs")[0] + "bugs\t: spectre_v",
        "flags\t\t: fpu sse2 pni\n",
        "flags\t\t: fpu sse2 pni\nflags\t\t: fpu sse2 pni\n",
        "processor\t: 0\nflags\t\t: fpu sse2 pni\n\n",
    ],
)
def test_a_whole_copy_and_its_lines_of_flags_alone_are_taken(tmp_path: Path, text: str) -> None:
    assert "sse2" in read_host(written(tmp_path, text)).cpu.flags


def test_what_is_too_large_is_no_description_of_a_host(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as stream:
        stream.truncate((1 << 24) + 1)
    with pytest.raises(DocumentError, match="larger than 16 MiB"):
        read_host(path)


def test_what_cannot_be_read_is_refused_likewise(tmp_path: Path) -> None:
    binary = tmp_path / "core"
    binary.write_bytes(b"\x7fELF\xff\xfe" * 100)
    for path, problem in ((tmp_path / "missing", "cannot be read"), (tmp_path, "cannot be read"), (binary, "not text")):
        with pytest.raises(DocumentError, match=problem):
            read_host(path)
