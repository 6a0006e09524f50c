"""What NVML tells of the GPUs, asked in a process of its own with a time limit."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastinstall.model.gpu import Gpu, GpuDevice, GpuSource, Nvml
from fastinstall.model.parsing import json_data
from fastinstall.system.process import CommandError, run

_SCRIPT = Path(__file__).with_name("_gpu_nvml.py")
_NO_PACKAGE = "nvidia-ml-py, which asks NVML, is not installed beside fastinstall: its extra [cuda] brings it"
_SECONDS = 5.0
_STATES = {12: Nvml.NO_LIBRARY, 18: Nvml.MISMATCH}
"""NVML_ERROR_LIBRARY_NOT_FOUND and NVML_ERROR_LIB_RM_VERSION_MISMATCH (nvml.h)."""


def told_by_nvml(seen: Gpu, *, seconds: float = _SECONDS) -> Gpu:
    """What was seen in files, with what NVML knows beside it; `problem` says why it told nothing.

    Args:
        seen: the GPUs as /proc has them.
        seconds: how long it may take.
    """
    package = find_spec("pynvml")
    if package is None or package.origin is None:
        return replace(seen, nvml=Nvml.NO_PACKAGE, problem=_NO_PACKAGE)
    try:
        answer = run((sys.executable, "-I", "-B", _SCRIPT, str(Path(package.origin).parent)), timeout=seconds)
        told = json_data(answer.stdout)
    except CommandError as error:
        state = Nvml.HUNG if error.timed_out else Nvml.REFUSED
        return replace(seen, nvml=state, problem=_explained(error, seconds))
    except ValueError:
        return replace(seen, nvml=Nvml.REFUSED, problem="NVML's answer could not be read")
    return _merged(seen, told)


def _explained(error: CommandError, seconds: float) -> str:
    if error.timed_out:
        return f"NVML did not answer within {seconds:g} s"
    if error.completed.signal_name:
        return f"NVML was killed by {error.completed.signal_name}"
    last = error.completed.stderr.strip().rpartition("\n")[2]
    return f"NVML could not be asked: {last or error}"


def _merged(seen: Gpu, told: dict[str, Any]) -> Gpu:
    if told["error"]:
        state = _STATES.get(told["code"], Nvml.REFUSED)
        return replace(seen, nvml=state, problem=f"NVML: {told['error']}")
    devices = tuple(GpuDevice(**device) for device in told["devices"])
    return replace(
        seen,
        found_by=GpuSource.NVML,
        nvml=Nvml.ANSWERED,
        devices=devices or seen.devices,
        driver=told["driver"] or seen.driver,
        driver_cuda=told["cuda"],
    )
