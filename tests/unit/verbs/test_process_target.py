"""Which environment a process belongs to; the environments are directories with the marks of one."""

import shlex
from pathlib import Path, PurePath, PurePosixPath

import pytest

from fastinstall.core.errors import UndeterminedError
from fastinstall.model.facts import EnvironmentKind, LiveProcess
from fastinstall.verbs.process_target import process_target

CORE = "lib/python3.11/site-packages/PIL/_imaging.cpython-311-x86_64-linux-gnu.so"


def make_environment(prefix: Path, mark: str = "pyvenv.cfg") -> Path:
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python").write_text("")
    (prefix / mark).mkdir() if mark == "conda-meta" else (prefix / mark).write_text("")
    return prefix


def running(executable: Path, *mapped: Path, root: str = "/") -> LiveProcess:
    return LiveProcess(
        pid=4711, command=(str(executable), "a b"), executable=executable, mapped=mapped, root=PurePath(root)
    )


def test_the_environment_of_the_pil_that_is_mapped(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "env")
    found = process_target(running(Path("/usr/bin/uwsgi"), prefix / CORE), {})
    assert (found.prefix, found.kind, found.python) == (prefix, EnvironmentKind.VENV, prefix / "bin/python")


def test_a_conda_environment(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "env", "conda-meta")
    assert process_target(running(prefix / "bin/python3.11", prefix / CORE), {}).kind is EnvironmentKind.CONDA


def test_the_copies_of_a_core_belong_to_an_environment_too(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "env")
    code = prefix / "lib/python3.11/site-packages/pillow.libs/glibc-hwcaps/x86-64-v3/lib_imaging_core-0123abcd.so"
    assert process_target(running(Path("/usr/bin/uwsgi"), code), {}).prefix == prefix


def test_a_core_that_a_setup_has_moved_aside_belongs_to_its_environment(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "env")
    aside = prefix / "share/fastinstall/tx/20261121T100000Z-1a2b/stage/PIL/_imaging.so"
    assert process_target(running(Path("/usr/bin/uwsgi"), aside), {}).prefix == prefix


def test_pil_counts_more_than_the_interpreter(tmp_path: Path) -> None:
    prefix, other = make_environment(tmp_path / "env"), make_environment(tmp_path / "other")
    assert process_target(running(other / "bin/python", prefix / CORE), {}).prefix == prefix


def test_the_environment_bears_the_name_that_the_process_was_started_by(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "releases/7")
    (tmp_path / "current").symlink_to(prefix)
    called = tmp_path / "current/bin/python"
    assert process_target(running(called, prefix / CORE), {}).prefix == tmp_path / "current"


def test_the_environment_of_the_interpreter_where_no_pil_is_mapped(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "env")
    assert process_target(running(prefix / "bin/python"), {}).prefix == prefix


def test_a_pil_of_no_environments_own_leads_to_the_interpreter(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "env")
    at_home = tmp_path / "home/.local" / CORE
    assert process_target(running(prefix / "bin/python", at_home), {}).prefix == prefix


def test_a_program_without_pil_is_no_target(tmp_path: Path) -> None:
    with pytest.raises(UndeterminedError, match=r"4711 is not Python .*: /usr/bin/sleep 'a b'"):
        process_target(running(Path("/usr/bin/sleep"), tmp_path / "libc.so.6"), {})


def test_a_container_is_told_and_not_taken_for_this_machine(tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "env")
    process = running(prefix / "bin/python", prefix / CORE, root="/proc/4711/root")
    with pytest.raises(UndeterminedError, match="its own file system") as caught:
        process_target(process, {})
    assert shlex.split((caught.value.hint or "").rpartition(": ")[2])[:3] == ["nsenter", "--target", "4711"]
    assert PurePosixPath("/") != process.root
