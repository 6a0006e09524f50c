"""What NVML says, as one line of JSON. Runs in a process of its own: the driver below it may be dead and never answer.

Meant for `PYTHON -I -B` of the tool, with the directory of nvidia-ml-py's `pynvml` as its argument. It gives names,
versions and sizes; neither serial numbers nor UUIDs.
"""

import json
import sys
from collections.abc import Callable
from types import ModuleType


def main() -> None:
    """Ask, and print what came of it: `error` is empty where NVML answered."""
    sys.path.insert(0, sys.argv[1])
    import pynvml as nvml  # noqa: PLC0415 (from the directory put there just now)

    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        sys.stdout.write(json.dumps({"error": str(error), "code": error.value}) + "\n")
    else:
        sys.stdout.write(json.dumps({"error": "", "code": 0, **_described(nvml)}) + "\n")


def _described(nvml: ModuleType) -> dict[str, object]:
    cuda = _asked(nvml, nvml.nvmlSystemGetCudaDriverVersion) or 0
    count = _asked(nvml, nvml.nvmlDeviceGetCount) or 0
    handles = [_asked(nvml, nvml.nvmlDeviceGetHandleByIndex, index) for index in range(count)]
    return {
        "driver": _asked(nvml, nvml.nvmlSystemGetDriverVersion) or "",
        "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "",
        "devices": [_device(nvml, handle) for handle in handles if handle is not None],
    }


def _device(nvml: ModuleType, handle: object) -> dict[str, object]:
    capability = _asked(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = _asked(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return {
        "name": _asked(nvml, nvml.nvmlDeviceGetName, handle) or "",
        "capability": ".".join(map(str, capability)) if capability else "",
        "memory_bytes": memory.total if memory is not None else None,
    }


def _asked(nvml: ModuleType, function: Callable[..., object], *arguments: object):  # type: ignore[no-untyped-def]  # noqa: ANN202 (whatever NVML gives)
    """Return the answer to one query, or None if this device or driver does not support it."""
    try:
        answer = function(*arguments)
    except nvml.NVMLError:
        return None
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


main()
