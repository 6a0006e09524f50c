"""This machine's compiler and libraries, observed by running the compiler."""

import os
import shutil
from pathlib import Path

import pytest

from fastinstall.elf.cpu import level_of
from fastinstall.model.recipe import NativeRequirement
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.toolchain import observe_toolchain

VARIABLES = {"PATH": os.environ["PATH"]}
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")


def _accepted(*flags: str, variables: dict[str, str] = VARIABLES) -> tuple[str, ...]:
    compiler = observe_toolchain({}, flags, variables=variables).compiler
    assert compiler is not None
    return compiler.accepts


@needs_compiler
def test_flags_are_accepted_or_not_by_trying_them() -> None:
    flags = ("-O3", "-march=x86-64-v3", "-march=no-such-cpu", "-fno-such-thing")
    assert _accepted(*flags) == ("-O3", "-march=x86-64-v3")


@needs_compiler
def test_a_linker_flag_that_is_only_warned_of_is_not_accepted() -> None:
    assert _accepted("-Wl,-z,now", "-Wl,-z,no-such-thing", "-Wl,--no-such-thing") == ("-Wl,-z,now",)


@needs_compiler
def test_a_compiler_named_with_arguments_is_used_so(tmp_path: Path) -> None:
    wrapper = tmp_path / "my cc"
    wrapper.write_text('#!/bin/sh\nshift\nexec cc "$@"\n')
    wrapper.chmod(0o755)
    toolchain = observe_toolchain({}, ("-O2",), variables={**VARIABLES, "CC": f"'{wrapper}' --fast"})
    assert toolchain.compiler is not None
    assert toolchain.compiler.command == (str(wrapper), "--fast")
    assert toolchain.compiler.accepts == ("-O2",)


def test_no_compiler_is_none(tmp_path: Path) -> None:
    toolchain = observe_toolchain({}, ("-O2",), variables={"PATH": str(tmp_path)})
    assert (toolchain.compiler, toolchain.package_manager, toolchain.may_install) == (None, None, False)
    assert observe_toolchain({}, (), variables={**VARIABLES, "CC": str(tmp_path / "cc")}).compiler is None


def test_pkg_config_is_asked_where_files_do_not_answer(tmp_path: Path) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("no pkg-config here")
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc/nosuch.h").touch()
    lines = ("Name: nosuch", "Description: nothing", "Version: 4.5", f"includedir={tmp_path / 'inc'}")
    (tmp_path / "nosuch.pc").write_text("\n".join((*lines, f"libdir={tmp_path}", "")))
    (tmp_path / "libnosuch.so").touch()
    need = NativeRequirement(header="nosuch.h", link="nosuch", pkgconfig="nosuch")
    variables = {**VARIABLES, "PKG_CONFIG_PATH": str(tmp_path)}
    (found,) = observe_toolchain({"it": need}, (), variables=variables).libraries
    assert (found.include, found.library, found.version) == (tmp_path / "inc", tmp_path / "libnosuch.so", "4.5")


def test_this_cpu_is_told_alike_by_loader_and_flags() -> None:
    cpu = observe_cpu(allowed_cores=1)
    if cpu.level_source != "ld.so":
        pytest.skip("this loader names no level")
    assert cpu.level == level_of(cpu.flags)
