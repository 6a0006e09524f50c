"""Python's C headers from a package match the interpreter that they are used for."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.sandbox import Sandbox
from support.values.build_requests import build_request

from fastinstall.compilers.system import observe_compiler
from fastinstall.core.errors import FailedError
from fastinstall.core.events import ignore
from fastinstall.index.header_packages import read_header_packages
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers import probe_headers, unpack_headers

MINOR = ".".join(map(str, sys.version_info[:2]))


@pytest.fixture
def request_without_headers(sandbox: Sandbox, tmp_path: Path) -> BuildRequest:
    """Return a build request with headers from a package, for a Python without its own."""
    package = read_header_packages().artefacts()[f"python{MINOR}"]
    index = PackageIndex(settings=PipSettings(timeout=60.0))
    directories = unpack_headers(index.fetch(package, sandbox.cache, ignore), tmp_path / "cache")
    interpreter = replace(observe_interpreter(Path(sys.executable)), include=tmp_path / "none", has_headers=False)
    compiler = observe_compiler((), {"PATH": "/usr/bin:/bin"})
    if compiler is None:
        pytest.skip("needs a C compiler")
    request = build_request(tmp_path)
    return replace(
        request,
        interpreter=interpreter,
        include_directories=directories,
        header_packages=(package,),
        compiler=compiler,
        step=replace(request.step, libraries=(), targets=(replace(request.step.targets[0], cflags=()),)),
    )


def test_headers_of_the_same_minor_version_fit(request_without_headers: BuildRequest) -> None:
    assert probe_headers(request_without_headers).digest


@pytest.mark.parametrize(
    ("name", "value"), [("PYLONG_BITS_IN_DIGIT", "15"), ("Py_TRACE_REFS", "1"), ("SIZEOF_WCHAR_T", "2")]
)
def test_headers_of_another_build_are_refused_with_what_differs(
    name: str, value: str, request_without_headers: BuildRequest, tmp_path: Path
) -> None:
    for file in (tmp_path / "cache").rglob("pyconfig.h"):
        text = re.sub(rf"^.*\b{name}\b.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        file.write_text(f"{text}\n#undef {name}\n#define {name} {value}\n", encoding="utf-8")

    with pytest.raises(FailedError, match=name):
        probe_headers(request_without_headers)


def test_headers_get_the_macro_of_a_free_threaded_build(request_without_headers: BuildRequest) -> None:
    request = request_without_headers
    target = replace(request.step.targets[0], cflags=("-DPy_GIL_DISABLED=1",))
    with pytest.raises(FailedError, match="Py_GIL_DISABLED is undefined, not 1"):
        probe_headers(replace(request, step=replace(request.step, targets=(target,))))
