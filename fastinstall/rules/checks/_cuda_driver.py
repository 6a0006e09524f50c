"""Whether a process here reaches the GPU: driver, library and device files, whatever is to run on it."""

from collections.abc import Iterator
from dataclasses import replace

from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.gpu import Gpu, Nvml
from fastinstall.rules.checks._cuda_words import portrait, show_driver, show_nodes
from fastinstall.rules.checks._voice import Voice

_TOOLKIT = "start the container with `--gpus all`, on a host that has nvidia-container-toolkit"


def judge_driver(say: Voice, gpu: Gpu, *, wanted: bool) -> Iterator[Finding]:
    """The gravest of what keeps a process from the GPU; a hint where nothing in the environment would use it.

    Args:
        say: the check's voice.
        gpu: what was observed.
        wanted: whether something in the environment was built for CUDA.
    """
    found = (*_mismatched(say, gpu), *_without_library(say, gpu), *_silent(say, gpu), *_absent(say, gpu, wanted=wanted))
    yield from found[:1] if wanted else (replace(finding, status=Status.HINT) for finding in found[:1])


def _mismatched(say: Voice, gpu: Gpu) -> Iterator[Finding]:
    if gpu.mismatch:
        versions = f": {gpu.driver} and {gpu.library}" if gpu.driver and gpu.library else ""
        yield say.error(
            f"the driver's kernel module and its library are of different versions{versions}, so no program gets a GPU",
            evidence=portrait(gpu),
            expected=gpu.library or "one version",
            observed=gpu.driver,
            remedy=_of_one_version(gpu),
            verify=show_driver(),
        )


def _of_one_version(gpu: Gpu) -> Remedy:
    if gpu.container:
        return Remedy(text="restart the container after the host's driver was updated; the image brings no driver")
    return Remedy(text="the driver was updated since the machine was started: restart it, or load the module anew")


def _without_library(say: Voice, gpu: Gpu) -> Iterator[Finding]:
    if not gpu.nodes or gpu.libcuda is not None:
        return
    where = "this container has a GPU's device files" if gpu.container else "a GPU's device files are here"
    yield say.error(
        f"{where}, but not libcuda.so.1, the driver's library, so no program gets the GPU",
        evidence=portrait(gpu),
        expected="libcuda.so.1 of the driver in place",
        observed="none where the loader looks",
        remedy=_library(gpu),
        verify=show_nodes(),
    )


def _library(gpu: Gpu) -> Remedy:
    if gpu.container:
        return Remedy(text=f"{_TOOLKIT}, and NVIDIA_DRIVER_CAPABILITIES=compute,utility; --device alone is not enough")
    version = f" {gpu.driver}" if gpu.driver else ""
    return Remedy(text=f"install the driver's libraries{version} (Debian: libcuda1; Ubuntu: libnvidia-compute)")


def _silent(say: Voice, gpu: Gpu) -> Iterator[Finding]:
    if gpu.nvml is Nvml.HUNG:
        yield say.warning(
            f"{gpu.problem}: the driver is dead, or starts anew for each program, with persistence mode off",
            evidence=portrait(gpu),
            remedy=Remedy(
                text="look for `Xid` in the kernel's messages; or have nvidia-persistenced keep the driver awake"
            ),
            verify=show_driver(),
        )
    elif gpu.nvml is Nvml.REFUSED and gpu.nodes:
        yield say.warning(
            f"the driver does not give its GPU away ({gpu.problem})",
            evidence=portrait(gpu),
            remedy=Remedy(text=_TOOLKIT if gpu.container else "restart the machine, or install its driver again"),
            verify=show_driver(),
        )


def _absent(say: Voice, gpu: Gpu, *, wanted: bool) -> Iterator[Finding]:
    """A GPU in the machine that no process here sees; only worth a word where something would use it."""
    if not wanted or gpu.nodes or gpu.tegra or not (gpu.driver or gpu.cards):
        return
    if gpu.container:
        yield say.warning(
            "the host has a GPU of NVIDIA's that was not handed to this container",
            evidence=portrait(gpu),
            remedy=Remedy(text=_TOOLKIT),
            verify=show_nodes(),
        )
    elif not gpu.driver:
        yield say.warning(
            "a GPU of NVIDIA's is in this machine, but its driver is not loaded",
            remedy=Remedy(text="install NVIDIA's driver; after an update of the kernel, build its module again"),
            verify=show_nodes(),
        )
