"""Which files of PIL a process of the target would open, and the settings of that process's loader."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.elf.writer import PLAIN, Elf

from fastinstall.elf.description import Linkage
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.observe.binaries import observe_linkage

SUFFIX = ".cpython-311-x86_64-linux-gnu.so"
MODULE = Elf(exported={"PyInit_x": PLAIN})
PYTHON = Elf(interpreter="/lib64/ld-linux-x86-64.so.2")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return a prefix with a Python that is a link, as in environments, and a PIL with two modules."""
    PYTHON.write(tmp_path / "base/bin/python3.11")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(tmp_path / "base/bin/python3.11")
    for name in ("_avif", "_imaging"):
        MODULE.write(tmp_path / f"PIL/{name}{SUFFIX}")
    return tmp_path


def observe(prefix: Path, *, python: str = "bin/python", **settings: str) -> Linkage:
    process = ProcessSettings(program=(prefix / python).resolve(), **settings)  # type: ignore[arg-type]  # (texts alone)
    return observe_linkage(prefix / "PIL", SUFFIX, process)


def test_the_core_is_opened_first(prefix: Path) -> None:
    linkage = observe(prefix)
    assert [module.name for module in linkage.modules] == [f"_imaging{SUFFIX}", f"_avif{SUFFIX}"]
    assert linkage.problem == ""
    assert linkage.files[0].path == prefix / "base/bin/python3.11"
    assert [file.path for file in linkage.files][-2:] == list(linkage.modules)


def test_the_file_an_import_would_take_is_opened_for_each_module(prefix: Path) -> None:
    for name in ("_avif.so", "_webp.abi3.so", "_webp.so", "_imagingcms.cpython-310-x86_64-linux-gnu.so", "notes.txt"):
        MODULE.write(prefix / "PIL" / name)
    names = [module.name for module in observe(prefix).modules]
    assert names == [f"_imaging{SUFFIX}", f"_avif{SUFFIX}", "_webp.abi3.so"]


def test_the_loader_is_told_of_its_variables(prefix: Path) -> None:
    preloaded = Elf(soname="mine.so").write(prefix / "mine.so")
    library = Elf(soname="liba.so").write(prefix / "own/liba.so")
    replace(MODULE, needed=("liba.so",)).write(prefix / f"PIL/_imaging{SUFFIX}")
    linkage = observe(prefix, library_path=f"{prefix}/other:{prefix}/own", preload=str(preloaded))
    assert {preloaded, library} <= {file.path for file in linkage.files}
    assert linkage.missing == ()


def test_a_python_that_is_a_script_is_a_problem(prefix: Path) -> None:
    (prefix / "bin/shim").write_text('#!/bin/sh\nexec python3 "$@"\n')
    linkage = observe(prefix, python="bin/shim")
    assert linkage == Linkage(problem=linkage.problem)
    assert str(prefix / "bin/shim") in linkage.problem


def test_a_directory_that_is_gone_has_no_modules(prefix: Path) -> None:
    process = ProcessSettings(program=prefix / "base/bin/python3.11")
    assert observe_linkage(prefix / "gone", SUFFIX, process).modules == ()
