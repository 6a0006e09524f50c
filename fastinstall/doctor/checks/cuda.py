"""The GPU's driver against the CUDA that torch and others were built for, without importing them.

- error: the driver is older than the CUDA that torch, tensorflow or jax was built for; kernel module and library of the
  driver are of different versions; the GPU's device files are there and the driver's library is not.
- warning: a build for the CPU or for another maker's GPUs on a machine with a GPU of NVIDIA's; a GPU that a container
  was not handed, or whose driver is not loaded or does not answer, with a build for CUDA in place.
- hint: a driver that is broken where nothing was built for CUDA; a build for the CPU that somebody chose by its index,
  on a machine with a GPU; CUDA's libraries where no GPU is.

The driver is told by NVML (nvidia-ml-py, the extra `cuda`), else by /proc/driver/nvidia. What a build is for stands in
its own files: torch/version.py, tensorflow's build_info.py, names and versions. Which driver a CUDA needs
is dated data: a minor version of CUDA 11 and later runs on every driver of its major version. A Tegra's driver is part
of its system image and is not judged. The tables were checked against public documents, and the probe against captured
files.

Why it matters:
A build that does not fit runs all the same, on the CPU: `torch.cuda.is_available()` is False, training takes days
instead of hours, and the loader of images is blamed.

How to fix it:
Install a build for a CUDA that driver and GPU serve; pytorch lists its builds on the page that the remedy names.
Updating the driver is the other way; after it, restart the machine. In a container the host's driver counts: start it
with `--gpus all`, on a host that has nvidia-container-toolkit.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.remedies import show_files
from fastinstall.model.finding import Finding

ORDER = 210
SETUP_REPAIRS = False

_SAY = FindingFactory("cuda")
_SIGNS = (PurePath("/dev/nvidiactl"), PurePath("/proc/driver/nvidia/version"))


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge driver, GPUs and builds; most machines have neither, and are not to wait for the tables."""
    gpu = context.facts.gpu
    if gpu is None:
        yield _SAY.ok("no NVIDIA GPU, and nothing here was built for one", verify=show_files(*_SIGNS))
        return
    from fastinstall.doctor.cuda_verdict import judge_gpu  # noqa: PLC0415 (only where there is something)

    yield from judge_gpu(context, gpu)
