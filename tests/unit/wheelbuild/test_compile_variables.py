"""The environment variables of a build, including those for headers in Debian's per-architecture directories."""

import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from support.values.build_requests import build_request
from support.values.builders import healthy_facts

from fastinstall.core.architecture import AARCH64, ARCHITECTURES
from fastinstall.setup.foresee import describe_python
from fastinstall.wheelbuild import compile as compilation
from fastinstall.wheelbuild.compile import build_variables, remove_stray_variables


@pytest.mark.parametrize(("there", "told"), [(True, 1), (False, 0)])
def test_a_build_is_told_of_them_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool, told: int
) -> None:
    monkeypatch.setattr(compilation, "_HEADERS", tmp_path)
    directory = tmp_path / "x86_64-linux-gnu"
    if there:
        directory.mkdir()
    request = build_request(tmp_path)
    assert list(build_variables(request, request.step.targets[0], "ar").values()).count(str(directory)) == told


def test_the_user_s_own_flags_are_dropped_and_named() -> None:
    kept, dropped = remove_stray_variables(
        {"PATH": "/bin", "CFLAGS": "-O0", "LDFLAGS": "-s", "JPEG_ROOT": "/opt", "CPATH": ""}
    )
    assert kept == {"PATH": "/bin"}
    assert dropped == ("CFLAGS", "LDFLAGS")


def test_flags_are_complete_without_the_pythons_linker_flags(tmp_path: Path) -> None:
    link = ("-L/a b", "-Wl,-rpath,$ORIGIN/../pillow.libs")
    request = build_request(tmp_path)
    target = request.step.targets[0]
    variables = build_variables(request, target, "/opt/a b/ar", jobs=3, preprocessor=("-I/include",), linker=link)
    assert variables["CFLAGS"] == "-O3 -march=x86-64-v3"
    assert variables["LDSHARED"] == "cc -pthread -shared"
    assert variables["AR"] == "'/opt/a b/ar'"
    assert shlex.split(variables["LDFLAGS"]) == ["-Wl,-z,x86-64-v3", *link]
    assert (variables["CPPFLAGS"], variables["MAX_CONCURRENCY"]) == ("-I/include", "3")
    assert variables["HOME"] == "/home/someone"


def test_pip_settings_of_the_user_stay_out(tmp_path: Path) -> None:
    users = {"HOME": "/home/someone", "PIP_FIND_LINKS": "/elsewhere", "PIP_CONSTRAINT": "c.txt"}
    request = replace(build_request(tmp_path), variables=users)
    made = build_variables(request, request.step.targets[0], "ar")
    assert made["HOME"] == "/home/someone"
    assert {name: value for name, value in made.items() if name.startswith("PIP_")} == {"PIP_CONFIG_FILE": os.devnull}


def test_a_cross_build_gets_target_names_and_no_local_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "_HEADERS", tmp_path)
    for each in ARCHITECTURES:
        (tmp_path / each.target).mkdir()
    python = describe_python(healthy_facts().interpreter, AARCH64)
    request = build_request(tmp_path, interpreter=python, is_foreign=True)
    made = build_variables(request, request.step.targets[0], "ar")
    assert made["_PYTHON_HOST_PLATFORM"] == "linux-aarch64"
    assert made["SETUPTOOLS_EXT_SUFFIX"] == ".cpython-311-aarch64-linux-gnu.so"
    assert "C_INCLUDE_PATH" not in made
    native = build_request(tmp_path)
    usual = build_variables(native, native.step.targets[0], "ar")
    assert usual.keys() - made.keys() == {"C_INCLUDE_PATH"}
    assert made.keys() - usual.keys() == {"_PYTHON_HOST_PLATFORM", "SETUPTOOLS_EXT_SUFFIX"}
