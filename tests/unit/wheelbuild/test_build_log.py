"""What the user is told about a failed build."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.values.build_requests import build_recipe, build_request, offer_programs

from fastinstall.core.errors import UnprovenError
from fastinstall.core.process import Completed
from fastinstall.index.header_packages import read_header_packages
from fastinstall.model.recipe import Kernel
from fastinstall.wheelbuild.build_log import explain


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


def test_failed_kernels_name_their_files_despite_later_output(
    tmp_path: Path,
) -> None:
    lines = (
        "  src/libImaging/Filter.c: In function 'ImagingFilter':",  # the indentation must not matter
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
        "src/libImaging/resize-loops.h:20:1: error: unknown type name 'Bytes'",
        "src/libImaging/resize-loops.h:21:1: error: another",
        "src/libImaging/Filter.c:8:9: error: no such member",
    )
    completed = Completed(argv=("python",), exit_code=1, stdout="\n".join(lines), stderr="")
    kernel = Kernel(name="resize", file="src/libImaging/Resample.c", functions=("f",), operations=("f",), reason="r")
    request = build_request(tmp_path, recipe=replace(build_recipe(), kernels=(kernel,)))
    error = explain(request, completed, tmp_path / "log")
    assert isinstance(error, UnprovenError)
    names = ("Resample.c", "resize.h", "resize-loops.h", "Filter.c")
    assert error.files == tuple(f"src/libImaging/{name}" for name in names)


def test_an_unknown_failure_shows_the_last_lines_and_the_log(tmp_path: Path) -> None:
    output = "\n".join(f"line {number}" for number in range(100))
    completed = Completed(argv=("python",), exit_code=-9, stdout=output, stderr="")
    error = explain(build_request(tmp_path), completed, tmp_path / "log")
    assert "SIGKILL" in error.message
    assert "line 99" in error.details
    assert "line 10" not in error.details
