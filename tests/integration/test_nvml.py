"""NVML: with the real nvidia-ml-py on a machine without a GPU, and with a fake module that answers or hangs.

A fake `pynvml` module simulates a machine with a GPU. It is found before the real module, and answers as the package's
documentation says, or never.
"""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.environments.observed import make_environment, site_packages
from support.values.builders import recipe

from fastinstall.model.machine import Gpu, GpuDevice, GpuSource, Nvml
from fastinstall.observe.environments import locate
from fastinstall.observe.gpu import ask_nvml
from fastinstall.observe.observation import ObservationRequest, facts_of
from fastinstall.observe.session import open_session
from fastinstall.setup.plan import compute_facts_digest

SEEN = Gpu(found_by=GpuSource.PROC, driver="550.54.15", nodes=True, devices=(GpuDevice(name="NVIDIA A40"),))
ERRORS = """\
class NVMLError(Exception):
    def __init__(self, value, text):
        super().__init__(text)
        self.value = value
"""
ANSWERING = f"""\
{ERRORS}
class Memory:
    total = 48 << 30

def unsupported(*_):
    raise NVMLError(3, "Not Supported")

nvmlInit = lambda: None
nvmlSystemGetDriverVersion = lambda: b"550.54.15"
nvmlSystemGetCudaDriverVersion = lambda: 12040
nvmlDeviceGetCount = lambda: 2
nvmlDeviceGetHandleByIndex = lambda index: index
nvmlDeviceGetName = lambda handle: ["NVIDIA A40", b"NVIDIA Thor"][handle]
nvmlDeviceGetCudaComputeCapability = lambda handle: [(8, 6), (11, 0)][handle]
nvmlDeviceGetMemoryInfo = lambda handle: unsupported() if handle else Memory
nvmlDeviceGetUUID = lambda handle: "GPU-0"
"""
HANGING = f"{ERRORS}\nimport time\nnvmlInit = lambda: time.sleep(600)\n"
DYING = f"{ERRORS}\nimport os\nnvmlInit = lambda: os.abort()\n"
MISMATCHED = f"""\
{ERRORS}
def nvmlInit():
    raise NVMLError(18, "Driver/library version mismatch")
"""


@pytest.fixture
def in_place_of_nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path at which a test can write a `pynvml` module that is found before the real one."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "pynvml.py"


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a GPU: what NVML says is its own matter")
@pytest.mark.skipif(find_spec("pynvml") is None, reason="nvidia-ml-py, of the extra [cuda], is not installed here")
def test_without_a_driver_pynvml_reports_its_library_as_missing() -> None:
    told = ask_nvml(SEEN)
    assert told.nvml is Nvml.NO_LIBRARY
    assert "Shared Library Not Found" in told.problem
    assert (told.found_by, told.driver, told.devices) == (SEEN.found_by, SEEN.driver, SEEN.devices)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.setattr(sys, "path_importer_cache", {})
    told = ask_nvml(SEEN)
    assert told.nvml is Nvml.NO_PACKAGE
    assert "[cuda]" in told.problem


def test_a_drivers_answer_is_recorded_without_device_identifiers(in_place_of_nvml: Path) -> None:
    in_place_of_nvml.write_text(ANSWERING)
    told = ask_nvml(SEEN)
    assert (told.nvml, told.found_by, told.problem) == (Nvml.ANSWERED, GpuSource.NVML, "")
    assert (told.driver, told.driver_cuda) == ("550.54.15", "12.4")
    assert told.devices == (
        GpuDevice(name="NVIDIA A40", capability="8.6", memory_bytes=48 << 30),
        GpuDevice(name="NVIDIA Thor", capability="11.0"),
    )
    assert "GPU-0" not in repr(told)


@pytest.mark.parametrize(
    ("text", "state", "problem"),
    [
        (DYING, Nvml.REFUSED, "NVML was killed by SIGABRT"),
        (MISMATCHED, Nvml.MISMATCH, "NVML: Driver/library version mismatch"),
        ("import missing_part_of_it\n", Nvml.REFUSED, "No module named 'missing_part_of_it'"),
    ],
    ids=["dies", "mismatch", "broken"],
)
def test_a_driver_that_refuses_is_told(in_place_of_nvml: Path, text: str, state: Nvml, problem: str) -> None:
    in_place_of_nvml.write_text(text)
    told = ask_nvml(SEEN)
    assert told.nvml is state
    assert problem in told.problem
    assert (told.driver, told.devices) == (SEEN.driver, SEEN.devices)


def test_a_driver_that_never_answers_is_told_and_not_waited_for(in_place_of_nvml: Path) -> None:
    in_place_of_nvml.write_text(HANGING)
    told = ask_nvml(SEEN, seconds=0.25)
    assert told.nvml is Nvml.HUNG
    assert "0.25 s" in told.problem
    assert told.devices == SEEN.devices


def test_a_framework_is_a_fact_that_a_plan_does_not_depend_on(tmp_path: Path) -> None:
    packages = site_packages(make_environment(tmp_path / "env", Path(sys.executable)))
    (packages / "torch").mkdir()
    (packages / "torch/version.py").write_text("__version__ = '2.9.1+cu126'\ncuda = '12.6'\n")
    request = ObservationRequest(recipe=recipe())
    environment = locate(tmp_path / "env", None, {}, tmp_path / "tool")
    facts = facts_of(open_session({"HOME": str(tmp_path)}), environment, request)
    assert facts.gpu is not None
    assert [(build.name, build.cuda) for build in facts.gpu.frameworks] == [("torch", "12.6")]
    assert compute_facts_digest(replace(facts, gpu=None)) == compute_facts_digest(facts)
