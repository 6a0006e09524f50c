"""Print NVML's answers as one line of JSON. This script is run as a subprocess: a dead driver may never answer.

NVML is the management library of NVIDIA's driver. Run the script with fastinstall's own Python: `PYTHON -I -B SCRIPT
DIRECTORY`, where DIRECTORY contains the module `pynvml` of nvidia-ml-py. The script prints names, versions and sizes,
but no serial numbers or UUIDs.
"""

import json
import sys
from collections.abc import Callable
from types import ModuleType


def main() -> None:
    """Query NVML and print the result as JSON. The value of "error" is NVML's error message, or "" if NVML answered."""
    sys.path.insert(0, sys.argv[1])
    import pynvml as nvml  # DIRECTORY, which was added to sys.path above, contains this module

    try:
        nvml.nvmlInit()
        answer = {"error": "", "code": 0, **_describe_gpus(nvml)}
    except nvml.NVMLError as error:
        answer = {"error": str(error), "code": error.value}
    sys.stdout.write(json.dumps(answer) + "\n")


def _describe_gpus(nvml: ModuleType) -> dict[str, object]:
    cuda = _query_nvml(nvml, nvml.nvmlSystemGetCudaDriverVersion) or 0
    count = _query_nvml(nvml, nvml.nvmlDeviceGetCount) or 0
    handles = [_query_nvml(nvml, nvml.nvmlDeviceGetHandleByIndex, index) for index in range(count)]
    return {
        "driver": _query_nvml(nvml, nvml.nvmlSystemGetDriverVersion) or "",
        "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "",
        "devices": [_describe_device(nvml, handle) for handle in handles if handle is not None],
    }


def _describe_device(nvml: ModuleType, handle: object) -> dict[str, object]:
    capability = _query_nvml(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = _query_nvml(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return {
        "name": _query_nvml(nvml, nvml.nvmlDeviceGetName, handle) or "",
        "capability": ".".join(map(str, capability)) if capability else "",
        "memory_bytes": memory.total if memory is not None else None,
    }


def _query_nvml(nvml: ModuleType, function: Callable[..., object], *arguments: object):  # type: ignore[no-untyped-def]  # noqa: ANN202 (the type depends on the query)
    """Return the answer to one query, or None if it fails, for example because a device does not support it."""
    try:
        answer = function(*arguments)
    except nvml.NVMLError:
        return None
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


main()
