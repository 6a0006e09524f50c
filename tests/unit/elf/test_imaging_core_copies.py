"""A core that is a stub with several copies: which copy is loaded, what each copy is, and the problems of copies."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from support.elf.writer import FRAME, PLAIN, Elf, each_damaged

from fastinstall.elf.description import ImagingCore
from fastinstall.elf.imaging_core import read_core
from fastinstall.elf.loader.process_settings import usable_hwcaps

CODE = "lib_imaging_core-0123abcd.so"
SYMBOLS = ("ImagingResampleHorizontalConvolution8u4x", "ImagingFilter3x3f_4u8")
FUNCTIONS = {f"Imaging{number}": PLAIN for number in range(9)}
STUB = Elf(needed=(CODE,), rpath="$ORIGIN/../pillow.libs")
BASELINE = Elf(
    soname=CODE,
    needed=("libjpeg.so.62",),
    rpath="$ORIGIN",
    isa="x86-64-v2",
    exported={"PyInit__imaging": PLAIN, SYMBOLS[0]: PLAIN, **FUNCTIONS},
    constants=b"\x0013.0.0\0",
    switches=("GNU C17 -O3 -march=x86-64-v2",),
)
BETTER = replace(
    BASELINE,
    rpath="$ORIGIN/../..",
    isa="x86-64-v3",
    exported={"PyInit__imaging": PLAIN, SYMBOLS[0]: PLAIN, SYMBOLS[1]: FRAME, **FUNCTIONS},
    switches=("GNU C17 -O3 -march=x86-64-v3",),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a site-packages with a stub, its two copies and the library that they need."""
    STUB.write(tmp_path / "PIL" / "_imaging.so")
    BASELINE.write(baseline(tmp_path))
    BETTER.write(better(tmp_path))
    Elf(soname="libjpeg.so.62").write(tmp_path / "pillow.libs" / "libjpeg.so.62")
    return tmp_path


def baseline(tree: Path) -> Path:
    return tree / "pillow.libs" / CODE


def better(tree: Path, level: str = "x86-64-v3") -> Path:
    return tree / "pillow.libs" / "glibc-hwcaps" / level / CODE


def read(tree: Path, level: str = "x86-64-v3") -> ImagingCore:
    return read_core(tree / "PIL" / "_imaging.so", SYMBOLS, main=None, hwcaps=usable_hwcaps(level))


def loaded(core: ImagingCore) -> list[str]:
    return [copy.level for copy in core.levels if copy.loaded]


def test_file_and_hash_come_from_the_stub_the_rest_from_its_copy(tree: Path) -> None:
    stub = tree / "PIL" / "_imaging.so"
    core = read(tree)
    assert core.readable, core.problem
    assert (core.path, core.size) == (stub, stub.stat().st_size)
    assert core.sha256 == hashlib.sha256(stub.read_bytes()).hexdigest()
    assert (core.isa_note, core.version, core.simd_symbols) == ("x86-64-v3", "13.0.0", SYMBOLS)
    assert core.switches == BETTER.switches
    assert core.unoptimised_share == pytest.approx(1 / 12)
    libraries = [(library.soname, library.path) for library in core.libraries]
    assert libraries == [("libjpeg.so.62", tree / "pillow.libs" / "libjpeg.so.62")]


def test_each_copy_is_described_the_baseline_first(tree: Path) -> None:
    first, second = read(tree).levels
    assert (first.level, first.path, first.loaded, first.isa_note) == ("x86-64-v2", baseline(tree), False, "x86-64-v2")
    assert (second.level, second.path, second.loaded) == ("x86-64-v3", better(tree), True)
    assert first.simd_symbols == SYMBOLS[:1]
    assert first.sha256 == hashlib.sha256(baseline(tree).read_bytes()).hexdigest()
    assert second.sha256 == hashlib.sha256(better(tree).read_bytes()).hexdigest()
    assert [copy.problem for copy in (first, second)] == ["", ""]


@pytest.mark.parametrize(
    ("cpu", "copy"),
    [
        ("x86-64-v1", "x86-64-v2"),
        ("x86-64-v2", "x86-64-v2"),
        ("x86-64-v3", "x86-64-v3"),
        ("x86-64-v4", "x86-64-v3"),
    ],
)
def test_the_best_copy_that_the_cpu_bears_is_loaded(tree: Path, cpu: str, copy: str) -> None:
    core = read(tree, cpu)
    assert (loaded(core), core.isa_note) == ([copy], copy)


def test_a_plain_core_has_no_copies(tree: Path) -> None:
    plain = BETTER.write(tree / "PIL" / "_imaging.so")
    core = read_core(plain, SYMBOLS, main=None, hwcaps=())
    assert (core.readable, core.levels, core.simd_symbols) == (True, (), SYMBOLS)


def test_a_baseline_without_a_note_is_called_that(tree: Path) -> None:
    replace(BASELINE, isa=None).write(baseline(tree))
    assert [copy.level for copy in read(tree).levels] == ["baseline", "x86-64-v3"]


def test_a_missing_baseline_is_seen_where_it_is_not_loaded(tree: Path) -> None:
    baseline(tree).unlink()
    core = read(tree)
    assert core.readable
    assert [(copy.level, copy.problem) for copy in core.levels] == [("baseline", "it is missing"), ("x86-64-v3", "")]


def test_a_core_whose_needed_baseline_is_missing_is_unreadable(tree: Path) -> None:
    baseline(tree).unlink()
    core = read(tree, "x86-64-v2")
    assert (core.readable, core.problem) == (False, f"a stub without its code, {CODE}: not found")
    assert [copy.problem for copy in core.levels] == ["it is missing", ""]


def test_a_missing_better_copy_leaves_the_baseline(tree: Path) -> None:
    better(tree).unlink()
    core = read(tree)
    assert (loaded(core), [copy.level for copy in core.levels]) == (["x86-64-v2"], ["x86-64-v2"])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty file"),
        (BETTER.content()[:700], "truncated: 700 bytes"),
        (replace(BETTER, soname="lib_imaging_core-ffffffff.so").content(), "its soname is lib_imaging_core-ffffffff"),
        (replace(BETTER, soname=None).content(), f"its soname is missing, not {CODE}"),
        (replace(BETTER, exported=FUNCTIONS).content(), "it does not define PyInit__imaging"),
    ],
)
def test_a_copy_that_cannot_take_the_cores_place_says_why(tree: Path, content: bytes, problem: str) -> None:
    better(tree).write_bytes(content)
    elsewhere = read(tree, "x86-64-v2")
    assert elsewhere.readable
    assert [copy.problem.startswith(problem) for copy in elsewhere.levels] == [False, True]
    here = read(tree)
    assert not here.readable
    assert problem in here.problem


def test_a_copy_for_another_machine_is_skipped_as_by_the_loader(tree: Path) -> None:
    replace(BETTER, machine=183).write(better(tree))
    core = read(tree)
    assert loaded(core) == ["x86-64-v2"]
    assert core.levels[1].problem.startswith("built for aarch64")


def test_every_level_directory_with_a_copy_counts(tree: Path) -> None:
    replace(BETTER, isa="x86-64-v4").write(better(tree, "x86-64-v4"))
    (tree / "pillow.libs" / "glibc-hwcaps" / "x86-64-v2").mkdir()
    assert [copy.level for copy in read(tree).levels] == ["x86-64-v2", "x86-64-v3", "x86-64-v4"]


def test_no_changed_byte_of_stub_or_copy_raises(tree: Path) -> None:
    unreadable = [
        position
        for path in (tree / "PIL" / "_imaging.so", better(tree))
        for position in each_damaged(path, step=7)
        if not read(tree).readable
    ]
    assert len(unreadable) > 20
