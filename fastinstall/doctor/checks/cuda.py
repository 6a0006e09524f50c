"""The GPU's driver against the CUDA that torch and others were built for, without importing them.

- error: the driver is older than the CUDA that torch, tensorflow, jax, DALI or nvImageCodec was built for. Kernel
  module and library of the driver have different versions. The GPU's device files are there and the driver's library is
  not. A build has no code for the GPU's compute capability.
- warning: a build for the CPU or for another maker's GPUs on a machine with a GPU of NVIDIA's. Or, with a build for
  CUDA, a container was given no GPU, or the driver is not loaded or does not answer.
- hint: a broken driver, and nothing built for CUDA. A build for the CPU that somebody chose by its index, on a machine
  with a GPU. CUDA's libraries without a GPU. No code for one GPU of several.

The driver is told by NVML (nvidia-ml-py, the extra `cuda`), else by /proc/driver/nvidia; compute capability by NVML
alone. What a build is for stands in its own files: torch/version.py, tensorflow's build_info.py, names and versions.
Which driver a CUDA needs is dated data. A minor version of CUDA 11 and later runs on every driver of its major version.
A Tegra's driver is part of its system image and is not judged. The tables were checked against public documents, and
the probe against captured files.

Why it matters:
A build that does not fit still runs, on the CPU. `torch.cuda.is_available()` is False, and training takes days instead
of hours. The image loader is blamed. Where it does not fit the GPU, it dies at its first kernel.

How to fix it:
Install a build for a CUDA that driver and GPU serve. pytorch lists its builds on the page that the remedy names.
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
