"""What a build is told: options, variables, tags, the key of the cache; and what a failed one is told to the user."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from support.values.build_requests import V3, build_recipe, build_request, build_step, offer_programs

from fastinstall.core.errors import UnprovenError
from fastinstall.core.process import Completed
from fastinstall.index.header_packages import read_header_packages
from fastinstall.model.machine import Compiler
from fastinstall.model.recipe import Kernel
from fastinstall.wheelbuild.auditwheel import platforms
from fastinstall.wheelbuild.build_failures import explain
from fastinstall.wheelbuild.headers.jpeg import abi_of_library
from fastinstall.wheelbuild.headers.probe import Headers
from fastinstall.wheelbuild.linking import options
from fastinstall.wheelbuild.pipeline import inputs_of
from fastinstall.wheelbuild.variables import Flags, build_variables, remove_stray_variables
from fastinstall.wheelbuild.wheel_cache import key_of

OFFICIAL = ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
HEADERS = Headers(directories=(), digest="d" * 64, versions={"jpeg": "2.1.5"}, jpeg_abi="62", gcc=True)


def test_with_a_chassis_the_core_s_libraries_are_required_and_all_others_refused(tmp_path: Path) -> None:
    request = build_request(tmp_path, base_wheel=tmp_path / "pillow.whl")
    assert options(request, exclusive=True) == {
        "jpeg": "enable",
        "tiff": "disable",
        "webp": "disable",
        "zlib": "enable",
    }


def test_without_a_chassis_the_planned_libraries_are_required_and_others_left_to_the_build(tmp_path: Path) -> None:
    assert options(build_request(tmp_path), exclusive=False) == {"jpeg": "enable", "webp": "enable", "zlib": "enable"}


def test_the_user_s_own_flags_are_dropped_and_named() -> None:
    kept, dropped = remove_stray_variables(
        {"PATH": "/bin", "CFLAGS": "-O0", "LDFLAGS": "-s", "JPEG_ROOT": "/opt", "CPATH": ""}
    )
    assert kept == {"PATH": "/bin"}
    assert dropped == ("CFLAGS", "LDFLAGS")


def test_flags_are_full_and_the_interpreter_s_linker_flags_stay_out(tmp_path: Path) -> None:
    link = ("-L/a b", "-Wl,-rpath,$ORIGIN/../pillow.libs")
    request = build_request(tmp_path)
    flags = Flags(target=request.step.targets[0], jobs=3, preprocessor=("-I/include",), linker=link)
    variables = build_variables(request, flags, "/opt/a b/ar")
    assert variables["CFLAGS"] == "-O3 -march=x86-64-v3"
    assert variables["LDSHARED"] == "cc -pthread -shared"
    assert variables["AR"] == "'/opt/a b/ar'"
    assert shlex.split(variables["LDFLAGS"]) == ["-Wl,-z,x86-64-v3", *link]
    assert (variables["CPPFLAGS"], variables["MAX_CONCURRENCY"]) == ("-I/include", "3")
    assert variables["HOME"] == "/home/someone"


@pytest.mark.parametrize(
    ("certified", "expected"),
    [
        ("manylinux_2_27_x86_64", OFFICIAL),
        ("manylinux_2_17_x86_64", OFFICIAL),
        ("manylinux_2_28_x86_64", ("manylinux_2_28_x86_64",)),
        ("manylinux_2_38_x86_64", ("manylinux_2_38_x86_64",)),
        ("linux_x86_64", ("linux_x86_64",)),
        ("musllinux_1_2_x86_64", ("musllinux_1_2_x86_64",)),
        ("manylinux_2_17_aarch64", ("manylinux_2_17_aarch64",)),
    ],
)
def test_official_tags_stay_only_where_the_core_is_no_worse(certified: str, expected: tuple[str, ...]) -> None:
    assert platforms(certified, OFFICIAL) == expected


@pytest.mark.parametrize(
    ("name", "abi"),
    [
        ("libjpeg-32d42e18.so.62.4.0", "62"),
        ("libjpeg.so.62", "62"),
        ("libjpeg.so.8.2.2", "80"),
        ("libjpeg.so", ""),
    ],
)
def test_the_abi_of_a_libjpeg_is_told_by_its_soname(name: str, abi: str) -> None:
    assert abi_of_library(name) == abi


def test_everything_that_decides_the_bytes_changes_the_key(tmp_path: Path) -> None:
    request = build_request(tmp_path, base_wheel=None, library_prefix=None)
    request = replace(request, step=build_step(libraries=()))  # no library of this machine is looked for
    base = key_of(inputs_of(request, HEADERS))
    python = request.interpreter
    others = [
        replace(request, step=build_step(libraries=(), targets=(replace(V3, cflags=("-O2",)),))),
        replace(request, step=build_step(libraries=(), targets=(replace(V3, ldflags=()),))),
        replace(request, step=build_step(libraries=(), targets=(replace(V3, level="x86-64-v2"), V3))),
        replace(request, step=build_step(libraries=(), distribution="pillow-simd")),
        replace(request, step=build_step(libraries=(), version="12.1.1+simd.v2")),
        replace(request, compiler=Compiler(command=("cc",), version="cc 13.1.0", accepts=())),
        replace(request, interpreter=replace(python, abi="cp311d")),
        replace(request, interpreter=replace(python, version="3.12.1")),
        replace(request, interpreter=replace(python, libc_version="2.31")),
        replace(request, recipe=replace(request.recipe, name="pillow")),
    ]
    keys = [key_of(inputs_of(other, HEADERS)) for other in others]
    keys.append(key_of(inputs_of(request, replace(HEADERS, digest="e" * 64))))
    request.source.write_bytes(b"another source")
    keys.append(key_of(inputs_of(request, HEADERS)))
    assert len({base, *keys}) == len(keys) + 1


def test_jobs_reason_and_place_do_not_change_the_key(tmp_path: Path) -> None:
    request = replace(build_request(tmp_path), step=build_step(libraries=()))
    other = replace(request, cache=tmp_path / "elsewhere", step=build_step(libraries=(), jobs=9, reason="another"))
    assert inputs_of(request, HEADERS) == inputs_of(other, HEADERS)


@pytest.mark.parametrize(
    ("output", "message", "hint"),
    [
        ("src/_imaging.c:1: fatal error: Python.h: No such file or directory", "Python.h", "python3.11-dev"),
        ("The headers or library files could not be found for jpeg,", "jpeg", "apt-get install libjpeg-dev"),
        ("__main__.DependencyException: tiff", "tiff", "libtiff-dev"),
        ("a.c:3:10: fatal error: tiffio.h: No such file or directory", "tiffio.h", "libtiff-dev"),
        ("/usr/bin/ld: cannot find -ljpeg: No such file or directory", "libjpeg", "apt-get install libjpeg-dev"),
        ("error: command 'cc' failed: No such file or directory", "compiler (cc)", "apt-get install gcc"),
        ("cc: error: unrecognized command-line option \u2018-march=x86-64-v9\u2019", "-march=x86-64-v9", "--level"),
        ("cc1: error: bad value 'x86-64-v3' for '-march=' switch", "-march=", "--level"),
        ("gcc: fatal error: Killed signal terminated program cc1", "memory", "--jobs 1"),
        ("fatal error: error writing to a.o: No space left on device", "No space left", "XDG_CACHE_HOME"),
    ],
)
def test_a_failure_names_its_cause_and_what_to_do(tmp_path: Path, output: str, message: str, hint: str) -> None:
    log = tmp_path / "build.log"
    completed = Completed(argv=("python",), exit_code=1, stdout=f"many lines\n{output}\nexit code: 1\n", stderr="")
    request = replace(build_request(tmp_path), variables=offer_programs(tmp_path, "apt-get", "dpkg"))
    error = explain(request, completed, log)
    assert message in error.message
    assert hint in (error.hint or "")
    assert str(log) in error.details[-1]
    assert output in error.details


def test_no_package_is_named_for_headers_that_were_brought(tmp_path: Path) -> None:
    output = "The headers or library files could not be found for jpeg,"
    completed = Completed(argv=("python",), exit_code=1, stdout=output, stderr="")
    packages = tuple(read_header_packages().artefacts().values())
    request = replace(build_request(tmp_path), header_packages=packages)
    error = explain(request, completed, tmp_path / "build.log")
    assert "jpeg" in error.message
    assert "build.log" in (error.hint or "")


def test_kernels_that_do_not_compile_name_their_files_whatever_stands_behind_the_errors(
    tmp_path: Path,
) -> None:
    lines = (
        "  src/libImaging/Filter.c: In function 'ImagingFilter':",  # however it is indented
        "  src/libImaging/Filter.c:7:9: error: no such member",
        "  src/libImaging/Filter.c:8:9: warning: unused",
        "src/_imaging.c:1: fatal error: another",
        *(f"cc -c {number}.c" for number in range(100)),
    )
    completed = Completed(argv=("python",), exit_code=1, stdout="\n".join(lines), stderr="")
    kernel = Kernel(name="filter", file="src/libImaging/Filter.c", functions=("f",), operations=("f",), reason="r")
    request = build_request(tmp_path, recipe=replace(build_recipe(), kernels=(kernel,)))
    error = explain(request, completed, tmp_path / "log")
    assert isinstance(error, UnprovenError)
    assert error.files == ("src/libImaging/Filter.c", "src/_imaging.c")
    assert error.details == (lines[1].strip(), lines[3], f"log: {tmp_path / 'log'}")
    assert not isinstance(explain(build_request(tmp_path), completed, tmp_path / "log"), UnprovenError)


def test_an_error_in_a_header_names_the_files_that_include_it(tmp_path: Path) -> None:
    lines = (
        "In file included from src/libImaging/Turn.c:9:",
        "src/libImaging/turn.h:3:1: warning: unused",
        "In file included from src/libImaging/resize.h:11,",
        "                 from src/libImaging/Resample.c:456:",
        "src/libImaging/groups.h:20:1: error: unknown type name 'Bytes'",
        "src/libImaging/groups.h:21:1: error: another",
        "src/libImaging/Filter.c:8:9: error: no such member",
    )
    completed = Completed(argv=("python",), exit_code=1, stdout="\n".join(lines), stderr="")
    kernel = Kernel(name="resize", file="src/libImaging/Resample.c", functions=("f",), operations=("f",), reason="r")
    request = build_request(tmp_path, recipe=replace(build_recipe(), kernels=(kernel,)))
    error = explain(request, completed, tmp_path / "log")
    assert isinstance(error, UnprovenError)
    names = ("Resample.c", "resize.h", "groups.h", "Filter.c")
    assert error.files == tuple(f"src/libImaging/{name}" for name in names)


def test_an_unknown_failure_shows_the_last_lines_and_the_log(tmp_path: Path) -> None:
    output = "\n".join(f"line {number}" for number in range(100))
    completed = Completed(argv=("python",), exit_code=-9, stdout=output, stderr="")
    error = explain(build_request(tmp_path), completed, tmp_path / "log")
    assert "SIGKILL" in error.message
    assert "line 99" in error.details
    assert "line 10" not in error.details
