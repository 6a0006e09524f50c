"""The rules of musl's loader, where they are not glibc's."""

from pathlib import Path

import pytest
from elf_writer import Elf
from loader_target import MUSL, Target, paths, program

HOST = program("libc.so", interpreter=MUSL)


@pytest.fixture
def target(tmp_path: Path) -> Target:
    target = Target(tmp_path)
    target.write(MUSL, Elf(soname="libc.musl-x86_64.so.1"))
    return target


def found(target: Target, main: Elf = HOST, **settings: object) -> str | None:
    opened = target.start(main, **settings).open("/opt/core.so")
    return opened.scope[1].path if opened.file is not None else None


def test_the_c_library_and_its_companions_are_the_loader_itself(target: Target) -> None:
    names = ("liba.so", "libm.so.6", "libpthread.so.0", "libc.musl-x86_64.so.1", "libc.so")
    process = target.start(program(*names, interpreter=MUSL))
    assert process.missing[0].name == "liba.so"
    target.write("/lib/liba.so")
    process = target.start(program(*names, interpreter=MUSL))
    assert [file.path for file in process.files] == ["/bin/host", "/lib/liba.so", MUSL]
    assert process.missing == []


def test_the_library_path_goes_before_every_other_one_and_the_system_comes_last(target: Target) -> None:
    target.write("/opt/core.so", Elf(needed=("liba.so",), rpath="$ORIGIN/own"))
    target.write("/usr/lib/liba.so")
    assert found(target) == "/usr/lib/liba.so"
    target.write("/opt/own/liba.so")
    assert found(target) == "/opt/own/liba.so"
    target.write("/srv/liba.so")
    assert found(target, library_path=":/nowhere\n/srv") == "/srv/liba.so"


def test_runpath_is_inherited_and_so_is_the_programs(target: Target) -> None:
    target.write("/opt/core.so", Elf(needed=("liba.so",), rpath="/void", runpath="/opt/own"))
    target.write("/opt/own/liba.so", Elf(soname="liba.so", needed=("libb.so", "libc1.so")))
    target.write("/opt/own/libb.so")
    target.write("/opt/of_program/libc1.so")
    main = program("libc.so", runpath="$ORIGIN/../opt/of_program", interpreter=MUSL)
    process = target.start(main)
    process.open("/opt/core.so")
    assert paths(process.files)[1:] == [
        *("/opt/own/liba.so", "/opt/own/libb.so", "/bin/../opt/of_program/libc1.so"),
    ]
    reasons = [file.reason for file in process.loaded_files()[-2:]]
    assert reasons == ["DT_RUNPATH of /opt/core.so", "DT_RUNPATH of /bin/host"]


@pytest.mark.parametrize("token", ["$LIB", "$PLATFORM", "$NOTHING"])
def test_a_search_path_with_another_token_is_void_as_a_whole(target: Target, token: str) -> None:
    target.write("/opt/core.so", Elf(needed=("liba.so",), runpath=f"/opt/own:/opt/{token}"))
    target.write("/opt/own/liba.so")
    assert found(target) is None


def test_the_systems_path_may_be_another(target: Target) -> None:
    target.write("/opt/core.so", Elf(needed=("liba.so",)))
    target.write("/lib/liba.so")
    target.write("/srv/liba.so")
    target.text("/etc/ld-musl-x86_64.path", "/nowhere\n/srv\n")
    assert found(target) == "/srv/liba.so"


def test_levels_caches_and_versions_are_not_known(target: Target) -> None:
    target.write("/opt/core.so", Elf(needed=("liba.so",), runpath="/opt/libs", imported=("one@NEW_2:liba.so",)))
    target.write("/opt/libs/glibc-hwcaps/x86-64-v3/liba.so")
    exported = {"one@@OLD_1": b"\xc3"}
    plain = target.write("/opt/libs/liba.so", Elf(soname="liba.so", exported=exported, isa="x86-64-v4"))
    assert found(target, hwcaps=("x86-64-v3", "x86-64-v2")) == plain


def test_a_file_answers_to_its_file_name_and_not_to_its_soname(target: Target) -> None:
    target.write("/lib/libfile.so", Elf(soname="libso.so"))
    process = target.start(program("libfile.so", interpreter=MUSL))
    assert process.open("libfile.so").file is process.files[1]
    assert process.open("libso.so").file is None


def test_what_was_opened_by_path_answers_to_a_name_only_when_a_search_comes_by_it(target: Target) -> None:
    opened = target.write("/lib/libx.so")
    process = target.start(HOST)
    first = process.open(opened).file
    assert first is not None
    assert first.names == set()
    assert process.open("libx.so").file is first
    assert first.names == {"libx.so"}


def test_a_file_for_another_machine_ends_the_search(target: Target) -> None:
    target.write("/opt/core.so", Elf(needed=("liba.so",), runpath="/opt/one:/opt/two"))
    target.write("/opt/one/liba.so", Elf(machine=183))
    target.write("/opt/two/liba.so")
    assert found(target) is None


def test_preloads_are_named_by_the_variable_alone(target: Target) -> None:
    target.write("/lib/libone.so")
    target.write("/lib/libtwo.so")
    target.text("/etc/ld.so.preload", "/lib/libtwo.so")
    process = target.start(HOST, preload=" libone.so")
    assert [file.path for file in process.scope] == ["/bin/host", "/lib/libone.so", MUSL]


def test_without_its_loader_a_program_does_not_begin(tmp_path: Path) -> None:
    process = Target(tmp_path).start(HOST)
    assert process.problem == f"/bin/host: its loader {MUSL} cannot be read"
