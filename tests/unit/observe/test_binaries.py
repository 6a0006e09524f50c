"""Which files of PIL are scanned, and how scans are cached."""

import hashlib
from dataclasses import replace
from pathlib import Path

from support.elf.writer import Elf

from fastinstall.elf.description import Confidence, CoreLevel, ImagingCore
from fastinstall.model.facts import InstalledStack
from fastinstall.observe.binaries import observe_isa

SUFFIX = ".cpython-311-x86_64-linux-gnu.so"
AVX2, PLAIN = bytes.fromhex("c5f5fcc2c3"), bytes.fromhex("c3")


def pillow(site: Path, *, copies: bool = False) -> InstalledStack:
    """Return a PIL with a core that needs AVX2, another module, and a module of another interpreter."""
    code = Elf(exported={"PyInit": AVX2})
    core = code.write(site / f"PIL/_imaging{SUFFIX}")
    Elf(exported={"PyInit": PLAIN}).write(site / f"PIL/_webp{SUFFIX}")
    Elf(exported={"PyInit": AVX2}).write(site / "PIL/_webp.cpython-310-x86_64-linux-gnu.so")
    levels: tuple[CoreLevel, ...] = ()
    if copies:
        places = {"x86-64-v2": "libs/core.so", "x86-64-v3": "libs/glibc-hwcaps/x86-64-v3/core.so"}
        levels = tuple(
            CoreLevel(level=level, path=path, sha256=digest(path), loaded=level == "x86-64-v3")
            for level, place in places.items()
            for path in [replace(code, soname=level).write(site / place)]
        )
    seen = ImagingCore(path=core, size=1, mtime_ns=1, sha256=digest(core), readable=True, levels=levels)
    return InstalledStack(directory=site / "PIL", core=seen)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_core_comes_first_and_foreign_modules_are_left_out(tmp_path: Path) -> None:
    scans = observe_isa(pillow(tmp_path), cache=tmp_path / "cache", scan=True)
    assert [scan.path.name for scan in scans] == [f"_imaging{SUFFIX}", f"_webp{SUFFIX}"]
    assert [scan.requires for scan in scans] == [("avx2",), ()]
    assert all(scan.sha256 == digest(Path(scan.path)) for scan in scans)


def test_of_a_core_with_copies_each_copy_is_scanned(tmp_path: Path) -> None:
    stack = pillow(tmp_path, copies=True)
    assert stack.core is not None
    scans = observe_isa(stack, cache=tmp_path / "cache", scan=True)
    assert [scan.path for scan in scans[:-1]] == [copy.path for copy in stack.core.levels]


def test_a_decoded_file_comes_from_the_cache_wherever_it_is(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = observe_isa(pillow(tmp_path / "one"), cache=cache, scan=True)
    again = observe_isa(pillow(tmp_path / "two"), cache=cache, scan=False)
    assert [replace(scan, path=Path()) for scan in first] == [replace(scan, path=Path()) for scan in again]
    assert all(scan.confidence is Confidence.CERTAIN for scan in again)
    assert all((tmp_path / "two") in Path(scan.path).parents for scan in again)


def test_what_was_not_decoded_is_unverified_and_not_kept(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    scans = observe_isa(pillow(tmp_path), cache=cache, scan=False)
    assert {scan.confidence for scan in scans} == {Confidence.UNVERIFIED}
    assert not cache.exists()


def test_a_damaged_entry_of_the_cache_is_written_again(tmp_path: Path) -> None:
    stack, cache = pillow(tmp_path), tmp_path / "cache"
    right = observe_isa(stack, cache=cache, scan=True)
    entries = sorted(cache.iterdir())
    for text in ("", "{", '{"schema": "fastinstall.isa/1"}', "[]", '{"schema": "fastinstall.isa/1", "path": 3}'):
        for entry in entries:
            entry.write_text(text)
        assert observe_isa(stack, cache=cache, scan=True) == right
    assert observe_isa(stack, cache=cache, scan=False) == right


def test_an_entry_of_another_file_is_not_believed(tmp_path: Path) -> None:
    stack, cache = pillow(tmp_path), tmp_path / "cache"
    right = observe_isa(stack, cache=cache, scan=True)
    one, other = sorted(cache.iterdir())
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert observe_isa(stack, cache=cache, scan=True) == right


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    blocked = tmp_path / "cache"
    blocked.write_text("a file, where a directory should be")
    assert observe_isa(pillow(tmp_path), cache=blocked, scan=True)[0].requires == ("avx2",)


def test_a_damaged_module_is_a_scan_with_a_problem(tmp_path: Path) -> None:
    stack = pillow(tmp_path)
    (tmp_path / f"PIL/_webp{SUFFIX}").write_bytes(b"\x7fELF")
    _core, webp = observe_isa(stack, cache=tmp_path / "cache", scan=True)
    assert webp.problem


def test_where_there_is_no_pillow_nothing_is_scanned(tmp_path: Path) -> None:
    assert observe_isa(InstalledStack(directory=None), cache=tmp_path / "cache", scan=True) == ()
    assert observe_isa(InstalledStack(directory=tmp_path), cache=tmp_path / "cache", scan=True) == ()
