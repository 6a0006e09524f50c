"""The loader's search, rule by rule, on files written for these tests."""

from pathlib import Path

import pytest
from support.elf.writer import CacheEntry, Elf, loader_cache

from fastinstall.elf.image import ElfError
from fastinstall.elf.loader.process_settings import usable_hwcaps
from fastinstall.elf.loader.simulation import resolve_libraries

LIBRARY = Elf(soname="liba.so")


def found(path: Path, **settings: object) -> dict[str, Path | None]:
    """Return the path that is found for each library name; there is no loader cache unless `cache` is given."""
    cache = settings.pop("cache", path.parent / "no.cache")
    libraries = resolve_libraries(path, cache=cache, **settings)  # type: ignore[arg-type]  # (keyword by keyword)
    return {library.soname: library.path for library in libraries}


def test_origin_is_the_directory_of_the_file_that_asks(tmp_path: Path) -> None:
    library = LIBRARY.write(tmp_path / "pillow.libs" / "liba.so")
    for search in ("$ORIGIN/../pillow.libs", "${ORIGIN}/../pillow.libs"):
        core = Elf(needed=("liba.so",), runpath=search).write(tmp_path / "PIL" / "core.so")
        assert found(core) == {"liba.so": library}


def test_what_is_not_found_is_named(tmp_path: Path) -> None:
    Elf(soname="liba.so", needed=("libgone.so",)).write(tmp_path / "liba.so")
    core = Elf(needed=("liba.so",), runpath="$ORIGIN").write(tmp_path / "core.so")
    missing = resolve_libraries(core, cache=tmp_path / "no.cache")[-1]
    assert (missing.soname, missing.path, missing.problem) == ("libgone.so", None, "not found")


def test_rpath_is_inherited_by_what_it_brings_in(tmp_path: Path) -> None:
    Elf(soname="liba.so", needed=("libb.so",)).write(tmp_path / "one" / "liba.so")
    deep = Elf(soname="libb.so").write(tmp_path / "two" / "libb.so")
    core = Elf(needed=("liba.so",), rpath="$ORIGIN/one:$ORIGIN/two").write(tmp_path / "core.so")
    assert found(core)["libb.so"] == deep


def test_runpath_is_not_inherited(tmp_path: Path) -> None:
    Elf(soname="liba.so", needed=("libb.so",)).write(tmp_path / "one" / "liba.so")
    Elf(soname="libb.so").write(tmp_path / "two" / "libb.so")
    core = Elf(needed=("liba.so",), runpath="$ORIGIN/one:$ORIGIN/two").write(tmp_path / "core.so")
    assert found(core)["libb.so"] is None


def test_a_runpath_of_its_own_shuts_out_the_rpath_above(tmp_path: Path) -> None:
    Elf(soname="liba.so", needed=("libb.so",), runpath="/nowhere").write(tmp_path / "liba.so")
    Elf(soname="libb.so").write(tmp_path / "libb.so")
    core = Elf(needed=("liba.so",), rpath="$ORIGIN").write(tmp_path / "core.so")
    assert found(core)["libb.so"] is None


def test_an_rpath_beside_a_runpath_is_void(tmp_path: Path) -> None:
    LIBRARY.write(tmp_path / "one" / "liba.so")
    core = Elf(needed=("liba.so",), rpath="$ORIGIN/one", runpath="/nowhere").write(tmp_path / "core.so")
    assert found(core) == {"liba.so": None}


def test_a_void_rpath_is_not_inherited_either(tmp_path: Path) -> None:
    Elf(soname="liba.so", needed=("libb.so",)).write(tmp_path / "one" / "liba.so")
    Elf(soname="libb.so").write(tmp_path / "two" / "libb.so")
    core = Elf(needed=("liba.so",), rpath="$ORIGIN/two", runpath="$ORIGIN/one").write(tmp_path / "core.so")
    assert found(core)["libb.so"] is None


@pytest.mark.parametrize(("kind", "winner"), [("rpath", "own"), ("runpath", "environment")])
def test_the_library_path_goes_before_runpath_and_behind_rpath(tmp_path: Path, kind: str, winner: str) -> None:
    for place in ("own", "environment"):
        LIBRARY.write(tmp_path / place / "liba.so")
    search = "$ORIGIN/own"
    core = Elf(
        needed=("liba.so",), rpath=search if kind == "rpath" else None, runpath=search if kind == "runpath" else None
    ).write(tmp_path / "core.so")
    library_path = (tmp_path / "environment",)
    assert found(core, library_path=library_path) == {"liba.so": tmp_path / winner / "liba.so"}


def test_the_best_usable_hwcaps_directory_wins(tmp_path: Path) -> None:
    plain = LIBRARY.write(tmp_path / "liba.so")
    better = LIBRARY.write(tmp_path / "glibc-hwcaps" / "x86-64-v2" / "liba.so")
    best = LIBRARY.write(tmp_path / "glibc-hwcaps" / "x86-64-v3" / "liba.so")
    core = Elf(needed=("liba.so",), runpath="$ORIGIN").write(tmp_path / "core.so")
    for level, expected in (("x86-64-v4", best), ("x86-64-v3", best), ("x86-64-v2", better), ("x86-64-v1", plain)):
        assert found(core, hwcaps=usable_hwcaps(level)) == {"liba.so": expected}
    assert found(core, hwcaps=usable_hwcaps(None)) == {"liba.so": plain}


def test_the_programs_rpath_serves_dlopen_its_runpath_does_not(tmp_path: Path) -> None:
    library = LIBRARY.write(tmp_path / "lib" / "liba.so")
    core = Elf(needed=("liba.so",)).write(tmp_path / "core.so")
    for elf, expected in ((Elf(rpath="$ORIGIN/../lib"), library), (Elf(runpath="$ORIGIN/../lib"), None)):
        main = elf.write(tmp_path / "bin" / "python3")
        link = tmp_path / "venv" / "bin" / "python"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(main)
        assert found(core, main=link) == {"liba.so": expected}


def test_what_the_program_has_loaded_is_used_again_by_soname(tmp_path: Path) -> None:
    loaded = Elf(soname="liba.so").write(tmp_path / "bin" / "liba-real.so")
    main = Elf(needed=("liba-real.so",), rpath="$ORIGIN").write(tmp_path / "bin" / "python3")
    LIBRARY.write(tmp_path / "liba.so")
    core = Elf(needed=("liba.so",), runpath="$ORIGIN").write(tmp_path / "core.so")
    assert found(core, main=main) == {"liba.so": loaded}


def test_a_program_that_is_a_script_is_left_out(tmp_path: Path) -> None:
    shim = tmp_path / "python3"
    shim.write_text("#!/bin/sh\n")
    library = LIBRARY.write(tmp_path / "liba.so")
    core = Elf(needed=("liba.so",), runpath="$ORIGIN").write(tmp_path / "core.so")
    assert found(core, main=shim) == {"liba.so": library}


def test_one_file_under_two_names_is_one_library(tmp_path: Path) -> None:
    library = Elf().write(tmp_path / "liba.so")
    (tmp_path / "libb.so").symlink_to(library)
    core = Elf(needed=("liba.so", "libb.so"), runpath="$ORIGIN").write(tmp_path / "core.so")
    assert found(core) == {"liba.so": library}


def test_libraries_that_need_each_other_end(tmp_path: Path) -> None:
    Elf(soname="liba.so", needed=("libb.so",), runpath="$ORIGIN").write(tmp_path / "liba.so")
    Elf(soname="libb.so", needed=("liba.so", "core.so"), runpath="$ORIGIN").write(tmp_path / "libb.so")
    core = Elf(soname="core.so", needed=("liba.so",), runpath="$ORIGIN").write(tmp_path / "core.so")
    assert list(found(core)) == ["liba.so", "libb.so"]


def test_a_library_for_another_machine_is_passed_over(tmp_path: Path) -> None:
    Elf(machine=183).write(tmp_path / "one" / "liba.so")
    foreign = bytearray(LIBRARY.content())
    foreign[4] = 1
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "liba.so").write_bytes(foreign)
    right = LIBRARY.write(tmp_path / "three" / "liba.so")
    search = "$ORIGIN/one:$ORIGIN/two:$ORIGIN/three"
    assert found(Elf(needed=("liba.so",), runpath=search).write(tmp_path / "core.so")) == {"liba.so": right}


def test_a_damaged_library_ends_the_search_as_in_the_loader(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    damaged = tmp_path / "one" / "liba.so"
    damaged.write_bytes(b"")
    LIBRARY.write(tmp_path / "two" / "liba.so")
    core = Elf(needed=("liba.so",), runpath="$ORIGIN/one:$ORIGIN/two").write(tmp_path / "core.so")
    (library,) = resolve_libraries(core, cache=tmp_path / "no.cache")
    assert library.path is None
    assert library.problem == f"{damaged}: empty file"


def test_for_a_program_on_musl_nothing_is_resolved(tmp_path: Path) -> None:
    core = Elf(needed=("liba.so", "libc.musl-x86_64.so.1")).write(tmp_path / "core.so")
    python = Elf(interpreter="/lib/ld-musl-x86_64.so.1").write(tmp_path / "python")
    assert resolve_libraries(core, main=python) == ()


@pytest.mark.parametrize("old_format_first", [False, True])
def test_the_cache_is_asked_last_and_by_level(tmp_path: Path, *, old_format_first: bool) -> None:
    plain = LIBRARY.write(tmp_path / "system" / "liba.so")
    level = LIBRARY.write(tmp_path / "system" / "glibc-hwcaps" / "x86-64-v3" / "liba.so")
    cache = tmp_path / "ld.so.cache"
    lines = (
        CacheEntry(soname="liba.so", path="/for/32-bit/liba.so", flags=0x0003),
        CacheEntry(soname="liba.so", path=str(level), subdirectory="x86-64-v3"),
        CacheEntry(soname="liba.so", path=str(plain)),
    )
    cache.write_bytes(loader_cache(*lines, old_format_first=old_format_first))
    core = Elf(needed=("liba.so",)).write(tmp_path / "core.so")
    assert found(core, cache=cache) == {"liba.so": plain}
    assert found(core, cache=cache, hwcaps=usable_hwcaps("x86-64-v2")) == {"liba.so": plain}
    assert found(core, cache=cache, hwcaps=usable_hwcaps("x86-64-v4")) == {"liba.so": level}
    own = LIBRARY.write(tmp_path / "liba.so")
    core = Elf(needed=("liba.so",), runpath="$ORIGIN").write(tmp_path / "core.so")
    assert found(core, cache=cache) == {"liba.so": own}


def test_a_damaged_cache_is_an_empty_one(tmp_path: Path) -> None:
    library = LIBRARY.write(tmp_path / "liba.so")
    core = Elf(needed=("liba.so", "libgone.so"), runpath="$ORIGIN").write(tmp_path / "core.so")
    whole = loader_cache(CacheEntry(soname="libgone.so", path=str(tmp_path / "gone"), subdirectory="x86-64-v3"))
    cache = tmp_path / "ld.so.cache"
    for length in range(len(whole)):
        cache.write_bytes(whole[:length])
        assert found(core, cache=cache) == {"liba.so": library, "libgone.so": None}


def test_a_file_that_is_none_raises(tmp_path: Path) -> None:
    (tmp_path / "core.so").write_bytes(b"")
    with pytest.raises(ElfError, match="empty file"):
        resolve_libraries(tmp_path / "core.so")
