"""The clang wrapper: how it translates other compilers' options, for this machine and for another architecture."""

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fastinstall.compilers.clang import COMPILER
from fastinstall.core.architecture import AARCH64, X86_64, Architecture
from fastinstall.core.events import ignore

Say = Callable[..., list[str]]
FOREIGN = next(each for each in (AARCH64, X86_64) if each.machine != os.uname().machine)
ZIG = """#!/bin/sh
for word in "$@"; do echo "$word"; done
"""
"""A fake compiler that prints its arguments."""


@pytest.fixture(scope="module")
def prepare(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Architecture | None], Path]:
    """Return a function that unpacks a wheel with the fake compiler and one header file per architecture."""
    place = tmp_path_factory.mktemp("a cache")
    wheel = place / "ziglang-0.17.1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        info = zipfile.ZipInfo("ziglang/zig")
        info.external_attr = 0o100755 << 16
        archive.writestr(info, ZIG)
        for family in ("x86", "aarch64", "generic"):
            archive.writestr(f"ziglang/lib/libc/include/{family}-linux-gnu/{family}.h", "")
        archive.writestr("ziglang/lib/libc/include/generic-glibc/stdio.h", "")
    return lambda architecture: COMPILER.prepare(wheel, place / "cache", ignore, architecture)


@pytest.fixture
def foreign(prepare: Callable[[Architecture | None], Path]) -> Say:
    return lambda *words: say(prepare(FOREIGN), *words)


@pytest.fixture
def native(prepare: Callable[[Architecture | None], Path]) -> Say:
    return lambda *words: say(prepare(None), *words)


def say(program: Path, *words: str) -> list[str]:
    return subprocess.run((program, *words), check=True, capture_output=True, text=True).stdout.splitlines()


def test_it_compiles_for_the_machine_that_is_meant(native: Say, foreign: Say) -> None:
    assert f"{os.uname().machine}-linux-gnu.2.27" in native("-c", "x.c")
    assert f"{FOREIGN.target}.2.27" in foreign("-c", "x.c")


def test_a_foreign_target_gets_no_host_headers_or_libraries(native: Say, foreign: Say) -> None:
    of_this = ("-I/usr/include", "-I/usr/include/x86_64-linux-gnu", "-L/usr/lib/x86_64-linux-gnu", "-L/lib64")
    assert {*of_this, "/usr/include"} <= {*native(*of_this, "x.c")}
    told = foreign(*of_this, "-I/usr/include/python3.11", "-L/private/link", "x.c")
    assert not {*of_this, "/usr/include"} & {*told}
    assert {"-I/usr/include/python3.11", "-L/private/link"} <= {*told}
    assert foreign("-print-file-name=libc.so.6") == ["libc.so.6"]


@pytest.mark.parametrize(
    ("architecture", "flag", "becomes"),
    [
        (X86_64, "-march=x86-64-v3", "-march=x86_64_v3"),
        (X86_64, "-march=x86-64", "-march=x86_64"),
        (X86_64, "-march=skylake-avx512", "-march=skylake_avx512"),
        (X86_64, "-march=native", "-march=native"),
        (AARCH64, "-march=armv8-a", "-march=generic"),
        (AARCH64, "-march=armv8-a+crc", "-march=generic+crc"),
        (AARCH64, "-march=armv8-a+crc+simd", "-march=generic+crc"),
    ],
)
def test_a_level_gets_the_name_that_this_compiler_has_for_it(
    prepare: Callable[[Architecture | None], Path], architecture: Architecture, flag: str, becomes: str
) -> None:
    told = say(prepare(architecture), flag, "-c", "x.c")
    assert becomes in told
    assert told.count(flag) == (flag == becomes)


@pytest.mark.parametrize(("architecture", "baseline"), [(X86_64, "x86_64"), (AARCH64, "generic")])
def test_without_a_level_it_compiles_for_any_cpu(
    prepare: Callable[[Architecture | None], Path], architecture: Architecture, baseline: str
) -> None:
    """Without the wrapper, `zig cc` would compile for this machine's CPU."""
    program = prepare(architecture)
    assert f"-march={baseline}" in say(program, "-mtune=native", "-c", "x.c")
    assert f"-march={baseline}" not in say(program, "-march=native", "-c", "x.c")


def test_tuning_chooses_no_instructions(native: Say) -> None:
    """`zig cc` treats -mtune as a second -march, and the second wins (findings/zig-mtune-chooses-instructions.sh)."""
    told = native("-march=x86-64-v2", "-mtune=znver4", "-mtune=native", "-c", "x.c")
    assert not any(word.startswith("-mtune") for word in told)
    assert told[told.index("-tune-cpu") : told.index("-c")] == ["-tune-cpu", "-Xclang", "znver4"]


def test_each_architecture_has_its_place_with_its_headers(prepare: Callable[[Architecture | None], Path]) -> None:
    places = {each.machine: prepare(each).parent for each in (X86_64, AARCH64)}
    assert places[X86_64.machine] != places[AARCH64.machine]
    assert prepare(None).parent == places[os.uname().machine]
    headers = {name: sorted(path.name for path in place.rglob("*.h")) for name, place in places.items()}
    assert headers == {X86_64.machine: ["stdio.h", "x86.h"], AARCH64.machine: ["aarch64.h", "stdio.h"]}
