"""`doctor --pid`: what it says of processes that use PIL, while their environment changes under them."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.elf.compiler import compile_library
from support.environments.guarded import python_at_hand
from support.environments.observed import PILLOW, install_wheel, make_environment, site_packages
from support.environments.running_processes import living

from fastinstall.core.errors import UndeterminedError
from fastinstall.elf.description import Binding
from fastinstall.model.facts import Environment
from fastinstall.model.finding import Finding, Status
from fastinstall.observe.running_process import observe_process
from fastinstall.observe.session import open_session
from fastinstall.verbs.examine import Examination, examine
from fastinstall.verbs.process_target import process_target


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with stock Pillow; tests may not change it."""
    python = python_at_hand("3.11")
    if python is None:
        pytest.skip("no Python 3.11 here")
    made = make_environment(tmp_path_factory.mktemp("stock") / "an env", python)
    install_wheel(made, f"pillow=={PILLOW}")
    return made


@pytest.fixture
def own(stock: Path, tmp_path: Path) -> Path:
    """One to change."""
    made = make_environment(tmp_path / "own env", stock)
    shutil.copytree(site_packages(stock), site_packages(made), dirs_exist_ok=True)
    return made


def judged(pid: int, *checks: str) -> tuple[Environment, dict[str, Finding]]:
    """The environment that a process belongs to, and what the checks say of them, without running anything in it."""
    process, session = observe_process(pid), open_session(os.environ)
    environment = process_target(process, session.variables)
    report = examine(session, environment, Examination(checks=checks, quick=True, process=process))
    return environment, {finding.check: finding for finding in report.findings}


def test_a_process_of_a_whole_environment_is_well(stock: Path) -> None:
    with living(stock) as process:
        environment, found = judged(process.pid, "live-process", "jpeg-duplicates", "libraries-resolve")
    assert (environment.prefix, environment.python) == (stock.parent.parent, stock)
    assert {name: (finding.status, finding.message) for name, finding in found.items() if finding.status != "ok"} == {}


def test_an_interpreter_that_was_called_by_its_name_alone_is_found(stock: Path) -> None:
    variables = {**os.environ, "PATH": f"{stock.parent}:{os.environ['PATH']}"}
    with living("env", "python", variables=variables) as process:
        assert process_target(observe_process(process.pid), os.environ).prefix == stock.parent.parent


@pytest.mark.parametrize("tool", ["pip", "a rename"])
def test_a_pil_that_was_replaced_under_a_process_is_told(own: Path, tool: str) -> None:
    package, aside = site_packages(own) / "PIL", site_packages(own) / "~IL"
    with living(own) as process:
        shutil.copytree(package, aside, copy_function=os.link)
        for core in aside.glob("_imaging.*.so"):
            shutil.copy(core, core.with_suffix(".part"))
            core.with_suffix(".part").replace(package / core.name)
        if tool == "pip":
            shutil.rmtree(aside)
        _environment, found = judged(process.pid, "live-process")
    finding = found["live-process"]
    assert finding.status is Status.WARNING
    assert "before PIL's files were replaced" in finding.message
    assert any("_imaging." in line for line in finding.evidence)
    assert finding.remedy is not None
    assert str(process.pid) in finding.remedy.text


def test_a_second_libjpeg_in_the_process_is_told_with_its_package(own: Path) -> None:
    other = site_packages(own) / "torchvision.libs/libjpeg.so.62"
    compile_library(other, "int jpeg_CreateDecompress(void) { return 0; }")
    with living(own, code=f"import ctypes; ctypes.CDLL({str(other)!r}); import PIL.Image") as process:
        _environment, found = judged(process.pid, "jpeg-duplicates")
    told = [line for line in found["jpeg-duplicates"].evidence if str(other) in line]
    assert len(told) == 1
    assert "torchvision.libs in site-packages" in told[0]


@pytest.mark.parametrize("way", ["RTLD_GLOBAL", "LD_PRELOAD"])
def test_a_library_that_takes_the_functions_of_pils_libjpeg_is_told(stock: Path, tmp_path: Path, way: str) -> None:
    other = compile_library(tmp_path / "libphoto.so", "int jpeg_CreateDecompress(void) { return 0; }")
    code = f"import ctypes; ctypes.CDLL({str(other)!r}, ctypes.RTLD_GLOBAL); import PIL.Image; from PIL import _imaging"
    variables = {**os.environ, "LD_PRELOAD": str(other)} if way == "LD_PRELOAD" else None
    with living(stock, code=code if variables is None else "from PIL import _imaging", variables=variables) as process:
        _environment, found = judged(process.pid, "jpeg-duplicates", "jpeg-library")
    finding = found["jpeg-duplicates"]
    assert (finding.status, found["jpeg-library"].status) == (Status.ERROR, Status.SKIPPED)
    assert "_imaging." in finding.message
    assert "not a libjpeg" in finding.message
    assert finding.observed == f"jpeg_CreateDecompress of {other}"
    assert finding.remedy is not None
    assert "import PIL before" in finding.remedy.text


def test_where_memory_cannot_be_read_the_other_libjpeg_is_a_warning(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = site_packages(own) / "torchvision.libs/libjpeg.so.62"
    compile_library(other, "int jpeg_CreateDecompress(void) { return 0; }")

    def refused(*_arguments: object) -> tuple[Binding, ...]:  # as Yama refuses it for what is no child
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(
        "fastinstall.observe.running_process.read_bindings", refused
    )  # as Yama does, of a process that is no child
    with living(own, code=f"import ctypes; ctypes.CDLL({str(other)!r}); import PIL.Image") as process:
        _environment, found = judged(process.pid, "jpeg-duplicates")
    finding = found["jpeg-duplicates"]
    assert finding.status is Status.WARNING
    assert "(Permission denied)" in finding.message


def test_the_bindings_of_a_process_are_what_its_loader_made(stock: Path) -> None:
    with living(stock, code="from PIL import _imaging") as process:
        seen = observe_process(process.pid)
    assert seen.unread == ""
    assert {each.user.name.partition(".")[0] for each in seen.bindings} >= {"_imaging"}
    assert {each.is_crossed for each in seen.bindings} == {False}
    assert all(each.provider is not None and each.provider.name.startswith("libjpeg-") for each in seen.bindings)


def test_a_process_without_pil_is_told(stock: Path) -> None:
    with living(stock, code="") as process:
        environment, found = judged(process.pid, "live-process")
    assert environment.prefix == stock.parent.parent
    assert found["live-process"].status is Status.HINT


def test_a_program_that_is_no_python_is_refused() -> None:
    with subprocess.Popen(("cat", "-", "/a b"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"x")
        process.stdin.flush()
        process.stdout.read(1)
        seen = observe_process(process.pid)
        process.kill()
    with pytest.raises(UndeterminedError, match=r"PIL: cat - '/a b'"):
        process_target(seen, os.environ)


def test_the_command_examines_a_process(own: Path, tmp_path: Path) -> None:
    variables = {**os.environ, "HOME": str(tmp_path)}
    with living(own) as process:
        asked = ("--json", "--quick", "--pid", str(process.pid), "live-process")
        argv = (sys.executable, "-m", "fastinstall", "doctor", *asked)
        done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, str(process.pid) in done.stdout) == (0, True), done.stderr
    gone = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False)
    assert gone.returncode == 4
    assert "hint:" in gone.stderr
