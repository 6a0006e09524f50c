"""A simulated process: which files are mapped, in which order and why, and what a failed open leaves behind."""

from pathlib import Path, PurePosixPath

import pytest
from support.elf.loader_target import LOADER, Target, paths, program
from support.elf.writer import Elf
from support.suite.golden import Golden

from fastinstall.elf.description import LoadedFile, MissingLibrary
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.elf.loader.simulation import start_process


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(tmp_path)


def test_the_loader_is_listed_where_the_symbol_search_reaches_it(target: Target) -> None:
    target.write("/lib64/libone.so", Elf(soname="libone.so", needed=("libdeep.so",)))
    target.write("/lib64/libc.so.6", Elf(soname="libc.so.6", needed=("ld-linux-x86-64.so.2",)))
    target.write("/lib64/libdeep.so")
    process = target.start(program("libone.so", "libc.so.6"))
    files = [file.path for file in process.files]
    assert files == ["/bin/host", "/lib64/libone.so", "/lib64/libc.so.6", "/lib64/libdeep.so", LOADER]
    assert [file.path for file in process.scope] == files
    assert (process.missing, process.problem) == ([], "")


def test_each_file_has_a_reason_and_who_asked_for_it(target: Target) -> None:
    target.write("/opt/libs/liba.so", Elf(soname="liba.so", needed=("libb.so", "libplain.so")))
    target.write("/opt/other/libb.so")
    target.write("/lib64/libplain.so")
    target.write("/opt/libpre.so")
    target.write("/opt/app/core.so", Elf(needed=("liba.so",), runpath="$ORIGIN/../libs"))
    process = target.start(program(), preload="/opt/libpre.so", library_path="/opt/other")
    assert process.open("/opt/app/core.so").file is not None
    told = {file.path.name: (file.reason, file.needed_by) for file in process.loaded_files()}
    core, library = PurePosixPath("/opt/app/core.so"), PurePosixPath("/opt/libs/liba.so")
    assert told == {
        "host": ("the program", None),
        "ld-linux-x86-64.so.2": ("the program's loader", None),
        "libpre.so": ("LD_PRELOAD", None),
        "core.so": ("opened", None),
        "liba.so": (f"DT_RUNPATH of {core}", core),
        "libb.so": ("LD_LIBRARY_PATH", library),
        "libplain.so": ("default directory", library),
    }


def test_a_path_is_told_without_detours(target: Target) -> None:
    target.write("/opt/libs/liba.so")
    target.write("/opt/app/core.so", Elf(needed=("liba.so",), runpath="$ORIGIN/../libs"))
    process = target.start()
    process.open("/opt/app/core.so")
    assert process.files[-1].path == "/opt/app/../libs/liba.so"
    assert process.loaded_files()[-1] == LoadedFile(
        path=PurePosixPath("/opt/libs/liba.so"),
        name="liba.so",
        soname="liba.so",
        reason="DT_RUNPATH of /opt/app/core.so",
        needed_by=PurePosixPath("/opt/app/core.so"),
    )


def test_a_detour_through_a_link_is_kept(target: Target) -> None:
    target.write("/srv/deep/app/core.so", Elf(needed=("liba.so",), runpath="$ORIGIN/../libs"))
    target.write("/srv/deep/libs/liba.so")
    target.link("/opt/app", "/srv/deep/app")
    process = target.start()
    process.open("/opt/app/core.so")
    assert process.loaded_files()[-1].path == PurePosixPath("/opt/app/../libs/liba.so")


def test_preloads_come_from_the_variable_then_the_system_file(target: Target) -> None:
    for name in ("one", "two", "three"):
        target.write(f"/lib64/lib{name}.so")
    target.text("/etc/ld.so.preload", "# every process\n/lib64/libthree.so:libgone.so # and no other\n")
    process = target.start(preload="libone.so libgone.so:/lib64/libtwo.so libone.so")
    assert paths(process.files) == ["/lib64/libone.so", "/lib64/libtwo.so", "/lib64/libthree.so"]
    assert [file.reason for file in process.files[2:]] == ["LD_PRELOAD", "LD_PRELOAD", "/etc/ld.so.preload"]
    assert process.missing == []


def test_dependencies_of_the_program_precede_those_of_preloads(target: Target) -> None:
    target.write("/lib64/libpre.so", Elf(soname="libpre.so", needed=("libdeep.so",)))
    target.write("/lib64/libdeep.so")
    target.write("/lib64/libown.so")
    process = target.start(program("libown.so"), preload="libpre.so")
    assert paths(process.files) == ["/lib64/libpre.so", "/lib64/libown.so", "/lib64/libdeep.so"]


def test_a_failed_open_leaves_nothing_mapped(target: Target) -> None:
    target.write("/lib64/liba.so")
    target.write("/opt/core.so", Elf(needed=("liba.so", "libgone.so", "liblost.so")))
    process = target.start()
    before = list(process.files)
    opened = process.open("/opt/core.so")
    assert (opened.file, opened.scope) == (None, ())
    core = PurePosixPath("/opt/core.so")
    assert opened.missing == (
        MissingLibrary(name="libgone.so", needed_by=core, problem="not found"),
        MissingLibrary(name="liblost.so", needed_by=core, problem="not found"),
    )
    assert process.missing == list(opened.missing)
    assert process.files == before


def test_aliases_found_before_a_failure_stay_later_ones_do_not(target: Target) -> None:
    target.write("/lib64/libreal.so", Elf())
    for alias in ("libearly.so", "liblate.so"):
        target.link(f"/opt/libs/{alias}", "/lib64/libreal.so")
    process = target.start(program("libreal.so"))
    needed = ("libearly.so", "libgone.so", "liblate.so")
    target.write("/opt/core.so", Elf(needed=needed, runpath="/opt/libs"))
    assert process.open("/opt/core.so").file is None
    assert process.open("libearly.so").file is process.files[1 if process.files[1].path != LOADER else 2]
    assert process.open("liblate.so").file is None


def test_what_is_open_is_not_opened_again(target: Target) -> None:
    target.write("/opt/core.so", Elf(soname="core.so"))
    target.link("/opt/alias.so", "core.so")
    process = target.start()
    first = process.open("/opt/core.so").file
    assert process.open("/opt/alias.so").file is first
    assert process.open("core.so").file is first
    assert len(process.files) == 3


def test_a_name_is_searched_for_by_whoever_opens_it(target: Target) -> None:
    target.write("/opt/own/libx.so")
    target.write("/opt/of_caller/libx.so")
    target.write("/lib64/libcaller.so", Elf(soname="libcaller.so", runpath="/opt/of_caller"))
    for caller, expected in (("program", "/opt/own/libx.so"), ("library", "/opt/of_caller/libx.so")):
        process = target.start(program("libcaller.so", runpath="/opt/own"))
        library = next(file for file in process.files if file.path.endswith("libcaller.so"))
        opened = process.open("libx.so", caller=library if caller == "library" else None).file
        assert opened is not None
        assert (opened.path, opened.needed_by) == (expected, None)


def test_libpython_opens_extension_modules_where_it_exists(target: Target) -> None:
    target.write("/opt/libx.so")
    target.write("/lib64/libpython3.11.so.1.0", Elf(soname="libpython3.11.so.1.0", runpath="/opt"))
    process = target.start(program("libpython3.11.so.1.0"))
    opened = process.open("libx.so").file
    assert opened is not None
    assert opened.reason == "DT_RUNPATH of /lib64/libpython3.11.so.1.0"


def test_opened_files_inherit_the_programs_rpath_not_the_callers(target: Target) -> None:
    target.write("/opt/of_caller/liba.so")
    target.write("/opt/of_program/libb.so")
    target.write("/lib64/libcaller.so", Elf(soname="libcaller.so", rpath="/opt/of_caller"))
    target.write("/opt/one.so", Elf(needed=("liba.so",)))
    target.write("/opt/two.so", Elf(needed=("libb.so",)))
    process = target.start(program("libcaller.so", rpath="/opt/of_program"))
    caller = next(file for file in process.files if file.path.endswith("libcaller.so"))
    assert process.open("/opt/one.so", caller=caller).file is None
    assert process.open("/opt/two.so", caller=caller).file is not None


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/bin/script", "/bin/script: not an ELF file"),
        ("/bin/gone", "/bin/gone: not found"),
        ("/bin/narrow", "/bin/narrow: a program for another machine"),
        ("/bin/static", "/bin/static: a static program has no loader"),
        ("/bin/strange", "/bin/strange: its loader /lib/ld-strange.so cannot be read"),
    ],
)
def test_an_unstartable_program_is_reported_and_libraries_open(target: Target, path: str, problem: str) -> None:
    target.text("/bin/script", "#!/bin/sh\n")
    target.write("/bin/static", Elf())
    narrow = bytearray(program().content())
    narrow[4] = 1
    (target.root / "bin" / "narrow").write_bytes(narrow)
    target.write("/bin/strange", program(interpreter="/lib/ld-strange.so"))
    target.write("/lib64/liba.so")
    target.write("/opt/core.so", Elf(needed=("liba.so",)))
    process = target.start(path)
    assert process.problem == problem
    assert [file.path for file in process.open("/opt/core.so").scope] == ["/opt/core.so", "/lib64/liba.so"]


def test_without_a_program_libraries_open_too(target: Target) -> None:
    target.write("/opt/core.so")
    process = start_process(ProcessSettings(program=None, root=target.root))
    assert (process.problem, process.main) == ("no program is known", None)
    assert process.open("/opt/core.so").file is not None


def test_of_a_program_on_musl_nothing_is_told_but_that(target: Target, golden: Golden) -> None:
    process = target.start(program("libc.musl-x86_64.so.1", "liba.so", interpreter="/lib/ld-musl-x86_64.so.1"))
    golden(process.problem)
    assert not process.is_simulated
    assert (process.files, process.missing) == ([], [])


def test_a_program_is_not_opened_as_a_library(target: Target) -> None:
    opened = target.start().open("/bin/host")
    assert opened.missing[0].problem.startswith("/bin/host: a program")


def test_a_missing_version_is_a_refusal(target: Target) -> None:
    target.write("/lib64/liba.so", Elf(soname="liba.so", exported={"one@@OLD_1": b"\xc3"}))
    target.write("/lib64/libplain.so", Elf(soname="libplain.so", exported={"two": b"\xc3"}))
    target.write("/opt/core.so", Elf(needed=("liba.so",), imported=("one@NEW_2:liba.so",)))
    target.write("/opt/fine.so", Elf(needed=("libplain.so",), imported=("two@NEW_2:libplain.so",)))
    process = target.start()
    (missing,) = process.open("/opt/core.so").missing
    assert (missing.name, missing.needed_by) == ("liba.so", PurePosixPath("/opt/core.so"))
    assert all(part in missing.problem for part in ("version `NEW_2'", "/lib64/liba.so"))
    assert process.open("/opt/fine.so").file is not None


@pytest.mark.parametrize(
    ("hwcaps", "level", "refused"),
    [
        (("x86-64-v2",), None, True),
        (("x86-64-v3", "x86-64-v2"), None, False),
        ((), "x86-64-v1", True),
        (("x86-64-v2",), "x86-64-v4", False),
        ((), None, False),
    ],
)
def test_a_file_above_the_cpus_level_is_refused(
    target: Target, hwcaps: tuple[str, ...], level: str | None, *, refused: bool
) -> None:
    target.write("/lib64/liba.so", Elf(soname="liba.so", isa="x86-64-v3"))
    target.write("/opt/core.so", Elf(needed=("liba.so",)))
    opened = target.start(hwcaps=hwcaps, level=level).open("/opt/core.so")
    assert (opened.file is None) is refused
    assert [missing.name for missing in opened.missing] == ["liba.so"] * refused
    assert all("for CPUs of level x86-64-v3" in missing.problem for missing in opened.missing)


def test_a_module_for_another_machine_differs_from_a_missing_one(target: Target) -> None:
    target.write("/opt/foreign.so", Elf(machine=183))
    process = target.start(program())
    for name, problem in (("/opt/foreign.so", "built for aarch64, not for x86_64"), ("/opt/gone.so", "not found")):
        (missing,) = process.open(name).missing
        assert missing.problem == problem
