"""Where glibc searches: tokens, odd entries of search paths, other CPUs and versions, and invalid files in the way."""

from pathlib import Path

import pytest
from support.elf.loader_target import BEFORE_LEVELS_CAME, BEFORE_PLATFORMS_WENT, CURRENT, LOADER, Target, program
from support.elf.writer import CacheEntry, Elf, loader_cache

from fastinstall.core.architecture import AARCH64
from fastinstall.elf.loader.process_settings import usable_hwcaps
from fastinstall.elf.loader.search import read_build

CORE = "/opt/app/core.so"
NO_DEFAULT_DIRECTORIES = 0x800


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(tmp_path)


def found(target: Target, *, main: Elf | None = None, **settings: object) -> str | None:
    """Return the path of the library that the core needs, as the loader finds it; None if the core cannot be loaded."""
    opened = target.start(main, **settings).open(CORE)
    return opened.scope[1].path if opened.file is not None else None


def core(target: Target, runpath: str = "", *, flags_1: int = 0) -> None:
    target.write(CORE, Elf(needed=("liba.so",), runpath=runpath or None, flags_1=flags_1))


@pytest.mark.parametrize(
    ("text", "directory"),
    [
        ("$ORIGIN/../libs", "/opt/app/../libs"),
        ("${ORIGIN}/libs", "/opt/app/libs"),
        ("/opt/$LIB", "/opt/lib64"),
        ("/opt/${PLATFORM}/x", "/opt/x86_64/x"),
        ("$ORIGINAL/libs", "/$ORIGINAL/libs"),
        ("/opt/libs//", "/opt/libs"),
    ],
)
def test_tokens(target: Target, text: str, directory: str) -> None:
    core(target, text)
    target.write(f"{directory}/liba.so")
    assert found(target) == f"{directory if text.startswith(('/', '$ORIGIN/', '${')) else text}/liba.so"


def test_the_platform_may_be_another(target: Target) -> None:
    core(target, "/opt/$PLATFORM")
    target.write("/opt/haswell/liba.so")
    assert found(target) is None
    assert found(target, platform="haswell") == "/opt/haswell/liba.so"


@pytest.mark.parametrize(
    ("library_path", "path"),
    [
        ("/nowhere:/srv/a", "/srv/a/liba.so"),
        ("/nowhere;/srv/a", "/srv/a/liba.so"),
        ("", None),
        (":", "liba.so"),
        ("/nowhere::", "liba.so"),
        ("a", "a/liba.so"),
        ("./a/", "./a/liba.so"),
        ("$ORIGIN/../srv/a", "/bin/../srv/a/liba.so"),
    ],
)
def test_odd_entries_of_the_library_path(target: Target, library_path: str, path: str | None) -> None:
    core(target)
    target.write("/srv/a/liba.so")
    target.write("/srv/liba.so")
    assert found(target, library_path=library_path, working_directory="/srv") == path


def test_an_empty_runpath_entry_is_the_working_directory(target: Target) -> None:
    core(target, "/nowhere:")
    target.write("/srv/liba.so", Elf(soname="liba.so"))
    assert found(target, working_directory="/srv") == "liba.so"
    process = target.start(working_directory="/srv")
    process.open(CORE)
    assert (process.files[-1].origin, str(process.loaded_files()[-1].path)) == ("/srv", "/srv/liba.so")


def test_a_need_may_be_a_path_with_tokens(target: Target) -> None:
    target.write("/opt/libs/liba.so")
    target.write(CORE, Elf(needed=("$ORIGIN/../libs/liba.so",)))
    process = target.start()
    assert [file.path for file in process.open(CORE).scope] == [CORE, "/opt/app/../libs/liba.so"]
    assert process.loaded_files()[-1].reason == f"path in DT_NEEDED of {CORE}"


@pytest.mark.parametrize(
    ("version", "subdirectory", "is_searched"),
    [
        (CURRENT, "glibc-hwcaps/x86-64-v3", True),
        (CURRENT, "glibc-hwcaps/x86-64-v4", False),
        (BEFORE_LEVELS_CAME, "glibc-hwcaps/x86-64-v3", False),
        (CURRENT, "tls/x86_64", False),
        (BEFORE_PLATFORMS_WENT, "tls/x86_64", True),
        (BEFORE_PLATFORMS_WENT, "tls", True),
        (BEFORE_LEVELS_CAME, "x86_64", True),
    ],
)
def test_subdirectories_depend_on_the_loaders_version(
    tmp_path: Path, version: str, subdirectory: str, *, is_searched: bool
) -> None:
    target = Target(tmp_path, version=version)
    core(target, "/opt/libs")
    target.write("/opt/libs/liba.so")
    special = target.write(f"/opt/libs/{subdirectory}/liba.so")
    assert (found(target, hwcaps=usable_hwcaps("x86-64-v3")) == special) is is_searched


def test_subdirectories_of_platforms_go_from_long_to_short(tmp_path: Path) -> None:
    target = Target(tmp_path, version=BEFORE_PLATFORMS_WENT)
    core(target, "/opt")
    order = ("glibc-hwcaps/x86-64-v4", "tls/haswell/avx512_1/x86_64", "tls/haswell", "tls", "haswell/x86_64", "haswell")
    for subdirectory in (*order, "avx512_1", "x86_64", ""):
        target.write(f"/opt/{subdirectory}/liba.so".replace("//", "/"))
    for subdirectory in (*order, "avx512_1", "x86_64", ""):
        path = f"/opt/{subdirectory}/liba.so".replace("//", "/")
        hwcaps, capabilities = usable_hwcaps("x86-64-v4"), ("avx512_1", "x86_64")
        assert found(target, hwcaps=hwcaps, platform="haswell", capabilities=capabilities) == path
        (tmp_path / path.lstrip("/")).unlink()


def test_a_loader_older_than_isa_levels_does_not_enforce_them(tmp_path: Path) -> None:
    target = Target(tmp_path, version=BEFORE_LEVELS_CAME)
    target.write(CORE, Elf(isa="x86-64-v4"))
    assert target.start(level="x86-64-v1").open(CORE).file is not None


def test_nodeflib_skips_cache_entries_in_default_directories(target: Target) -> None:
    inside, outside = target.write("/usr/lib64/deep/liba.so"), target.write("/srv/liba.so")
    for path, expected in ((inside, None), (outside, outside)):
        (target.root / "etc").mkdir(exist_ok=True)
        (target.root / "etc" / "ld.so.cache").write_bytes(loader_cache(CacheEntry(soname="liba.so", path=path)))
        core(target, flags_1=NO_DEFAULT_DIRECTORIES)
        assert found(target) == expected
        core(target)
        assert found(target) == path


def test_another_byte_order_but_not_class_ends_the_search(target: Target) -> None:
    core(target, "/opt/one:/opt/two")
    sound = (target.root / target.write("/opt/two/liba.so").lstrip("/")).read_bytes()
    for offset, value, expected in ((4, 1, "/opt/two/liba.so"), (5, 2, None)):
        changed = bytearray(sound)
        changed[offset] = value
        (target.root / "opt" / "one").mkdir(exist_ok=True)
        (target.root / "opt" / "one" / "liba.so").write_bytes(changed)
        assert found(target) == expected


def test_a_directory_of_that_name_ends_the_search(target: Target) -> None:
    core(target, "/opt/one:/opt/two")
    target.write("/opt/two/liba.so")
    (target.root / "opt" / "one" / "liba.so").mkdir(parents=True)
    assert found(target) is None
    assert target.start().open(CORE).missing[0].problem == "/opt/one/liba.so: not a regular file"


def test_links_in_a_circle_end_one_list_of_directories(target: Target) -> None:
    core(target, "/opt/one:/opt/two")
    target.link("/opt/one/liba.so", "liba.so")
    target.write("/opt/two/liba.so")
    default = target.write("/lib64/liba.so")
    assert found(target) == default


def test_a_dangling_link_is_passed_over(target: Target) -> None:
    core(target, "/opt/one:/opt/two")
    target.link("/opt/one/liba.so", "gone.so")
    assert found(target, library_path="/opt/two") is None
    target.write("/opt/two/liba.so")
    assert found(target) == "/opt/two/liba.so"


def test_the_origin_of_a_program_is_that_of_its_real_path(target: Target) -> None:
    target.write("/usr/real/host", program("liba.so", rpath="$ORIGIN/../libs"))
    target.write("/usr/libs/liba.so")
    target.link("/venv/bin/host", "/usr/real/host")
    process = target.start("/venv/bin/host")
    assert [file.path for file in process.files] == ["/usr/real/host", LOADER, "/usr/real/../libs/liba.so"]


@pytest.mark.parametrize(
    ("strings", "directories", "library"),
    [
        ("/lib64/\0/usr/lib64/", ("/lib64/", "/usr/lib64/"), "lib64"),
        (
            "/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/",
            ("/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/", "/lib/", "/usr/lib/"),
            "lib/x86_64-linux-gnu",
        ),
        ("/usr/lib/", ("/usr/lib/",), "lib"),
        ("/nix/store/x-glibc-2.40/lib/", ("/nix/store/x-glibc-2.40/lib/",), "lib"),
    ],
)
def test_a_loaders_build_settings_are_read_from_its_strings(
    tmp_path: Path, strings: str, directories: tuple[str, ...], library: str
) -> None:
    Elf(constants=f"\0no/path\0{strings}\0tail\0/own/etc/ld.so.cache\0".encode()).write(tmp_path / "ld.so")
    build = read_build(tmp_path / "ld.so", "x86_64")
    assert (build.directories, build.library) == (directories, library)
    assert (build.cache, build.version) == ("/own/etc/ld.so.cache", (2, 32))


def test_a_loader_that_is_not_there_counts_as_a_current_one(tmp_path: Path) -> None:
    build = read_build(tmp_path / "ld.so", "aarch64")
    assert build.directories[0] == "/lib/aarch64-linux-gnu/"
    assert (build.knows_levels, build.knows_platforms) == (True, False)


@pytest.mark.parametrize(
    ("version", "bits", "is_taken"),
    [
        (BEFORE_PLATFORMS_WENT, 1 << 8, True),
        (BEFORE_PLATFORMS_WENT, 1 << 8 | 1 << 63, True),
        (BEFORE_PLATFORMS_WENT, 1 << 63, True),
        (BEFORE_PLATFORMS_WENT, 1 << 1, False),
        (BEFORE_PLATFORMS_WENT, 1 << 8 | 1 << 1, False),
        (CURRENT, 1 << 8, False),
        (CURRENT, 1 << 63, False),
    ],
)
def test_legacy_cache_entries_depend_on_loader_version_and_cpu(
    tmp_path: Path, version: str, bits: int, *, is_taken: bool
) -> None:
    target = Target(tmp_path, version=version, machine=AARCH64)
    target.write(CORE, Elf(machine=AARCH64.elf_machine, needed=("liba.so",)))
    for path in ("/srv/atomics/liba.so", "/srv/liba.so"):
        target.write(path, Elf(machine=AARCH64.elf_machine, soname="liba.so"))
    lines = (("/srv/atomics/liba.so", bits), ("/srv/liba.so", 0))
    flags = AARCH64.cache_flags or 0
    entries = (CacheEntry(soname="liba.so", path=path, capabilities=bits, flags=flags) for path, bits in lines)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "ld.so.cache").write_bytes(loader_cache(*entries))
    expected = "/srv/atomics/liba.so" if is_taken else "/srv/liba.so"
    assert found(target, capabilities=("atomics",)) == expected


def test_an_aarch64_loader_searches_by_aarch64_cpu_features(tmp_path: Path) -> None:
    target = Target(tmp_path, version=BEFORE_PLATFORMS_WENT, machine=AARCH64)
    target.write(CORE, Elf(machine=AARCH64.elf_machine, needed=("liba.so",), runpath="/opt/$PLATFORM"))
    order = ("tls/aarch64/atomics", "tls/atomics", "aarch64/atomics", "aarch64", "atomics", "")
    for subdirectory in (*order, "aarch64/aarch64", "glibc-hwcaps/armv8-a"):
        path = f"/opt/aarch64/{subdirectory}/liba.so".replace("//", "/")
        target.write(path, Elf(machine=AARCH64.elf_machine, soname="liba.so"))
    assert found(target) == "/opt/aarch64/aarch64/liba.so"
    for subdirectory in order:
        path = f"/opt/aarch64/{subdirectory}/liba.so".replace("//", "/")
        assert found(target, capabilities=("atomics",), hwcaps=usable_hwcaps("armv8-a")) == path
        (tmp_path / path.lstrip("/")).unlink()


@pytest.mark.parametrize(
    ("made_for", "pages", "is_refused"),
    [
        (0x1000, 0, False),
        (0x1000, 0x1000, False),
        (0x1000, 0x4000, True),
        (0x10000, 0x10000, False),
        (0, 1 << 16, False),
    ],
)
def test_a_file_for_smaller_pages_than_the_kernels_is_refused(
    target: Target, made_for: int, pages: int, *, is_refused: bool
) -> None:
    target.write(CORE, Elf(page_size=made_for))
    opened = target.start(page_size=pages).open(CORE)
    assert (opened.file is None) is is_refused
    assert [str(made_for) in each.problem and str(pages) in each.problem for each in opened.missing] == [
        True
    ] * is_refused
