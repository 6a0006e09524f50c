"""Whether the GPU's driver supports the CUDA version that torch was built for; torch is not imported.

- error: the driver is older than the CUDA that torch was built for requires. Or the kernel module and the library of
  the driver have different versions. Or the GPU's device files exist and the driver's library is missing.
- warning: torch was built for the CPU or for another vendor's GPUs, and the machine has an NVIDIA GPU. Or torch was
  built for CUDA, but the container has no GPU, or the driver is not loaded or not responding.
- hint: the driver is broken, but nothing was built for CUDA. Or the machine has a GPU, but somebody chose a build for
  the CPU on purpose: its version has a label such as "+cpu".

The driver's version comes from NVML (nvidia-ml-py, the extra `cuda`), else from /proc/driver/nvidia. The CUDA version
of a build comes from torch/version.py. Findings give the date of the table of required drivers. A minor version of CUDA
11 and later runs on every driver of its major version. A Tegra's driver is part of its system image and is not judged.
If a build lacks code for this model of GPU, torch reports that on first use. The tables were checked against public
documents. The code that reads the driver's state was tested with captured files.

Why it matters:
A build that does not fit still runs, on the CPU. `torch.cuda.is_available()` is False, and training takes days instead
of hours. The image loader is blamed.

How to fix it:
Install a build for a CUDA version that driver and GPU support. PyTorch lists its builds on the page that the remedy
names. Or update the driver, and restart the machine. In a container the host's driver counts: start the container with
`--gpus all`, on a host that has nvidia-container-toolkit.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.version_numbers import list_leading_numbers
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import show_files, show_text
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.machine import FrameworkBuild, Gpu, Nvml

_DATED = "NVIDIA's tables as of 2026-11-22 [https://docs.nvidia.com/deploy/cuda-compatibility/]"
_TORCH_BUILDS = "https://pytorch.org/get-started/previous-versions/"

# Verified on 2026-11-22 against copies of NVIDIA's release notes for CUDA 13.2 Update 2 (table 3) and of "Minor Version
# Compatibility" (the branches 450, 525 and 580). Not verified, because no copy was available: that the branches begin
# at exactly 525.60.13 and 580.65.06, which are the first drivers of CUDA 12.0 and 13.0 in table 3.
_MINIMUM_DRIVERS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""The oldest Linux driver for all minor versions of a CUDA major version ("minor version compatibility").

Source: CUDA Toolkit release notes, table 2, and CUDA Compatibility, "Minor Version Compatibility".
"""

_OTHER_DRIVERS = {"11.0": "450.36.06", "10.2": "440.33", "10.1": "418.39", "10.0": "410.48", "9.2": "396.26"}
"""The oldest Linux driver for CUDA versions that `_MINIMUM_DRIVERS` does not cover, or not exactly.

Source: CUDA Toolkit release notes, table 3.
"""

_VERSION = PurePath("/proc/driver/nvidia/version")
_NODES = (PurePath("/dev/nvidiactl"), PurePath("/dev/nvidia0"))
_TOOLKIT = "start the container with `--gpus all`, on a host that has nvidia-container-toolkit"


def check(context: CheckContext) -> Iterator[Finding]:
    """Check whether programs can use a GPU, and whether the installed builds fit the GPU's driver."""
    gpu = context.facts.gpu
    if gpu is None:
        yield Finding.ok("no NVIDIA GPU, and nothing here was built for one", verify=show_files(_NODES[0], _VERSION))
        return
    wanted = any(build.cuda is not None for build in gpu.frameworks)
    obstacle = next(_list_obstacles(gpu, wanted=wanted), None)
    if obstacle is not None:
        status, message, remedy, verify = obstacle
        shown = status if wanted else Status.HINT
        yield Finding.of(shown, message, evidence=_describe_gpu(gpu), remedy=Remedy(text=remedy), verify=verify)
        if status is Status.ERROR and wanted:
            return  # no program can use a GPU, so there is nothing to compare
    builds = tuple(_judge_builds(gpu))
    yield from builds
    if obstacle is None and not builds:
        yield _report_success(gpu)


def find_required_driver(cuda: str) -> str:
    """Return the version of the oldest Linux driver for a CUDA version ("12.6"); empty if the tables do not have it."""
    parts = (*list_leading_numbers(cuda), 0)
    return _OTHER_DRIVERS.get(".".join(map(str, list_leading_numbers(cuda)[:2])), "") or _MINIMUM_DRIVERS.get(
        parts[0], ""
    )


def is_new_enough(gpu: Gpu, cuda: str) -> bool | None:
    """Return whether the driver is new enough for a CUDA version, or None if that is unknown.

    The highest CUDA version that NVML reports is compared first, then the driver's version. Under WSL the driver is
    that of Windows, so only its branch (the first number) is compared. A Tegra's driver versions are not comparable, so
    the result is None. If a package for forward compatibility is installed and has a later version, that version counts
    as the driver's.
    """
    if gpu.tegra or not cuda:
        return None
    wanted, offered = list_leading_numbers(cuda), list_leading_numbers(gpu.driver_cuda)
    if offered >= wanted or (offered[:1] == wanted[:1] and wanted[0] >= min(_MINIMUM_DRIVERS)):
        return True
    required = list_leading_numbers(find_required_driver(cuda))
    driver = max(list_leading_numbers(gpu.driver), list_leading_numbers(gpu.compat))
    if not driver or not required:
        return None
    return driver[0] >= required[0] if gpu.wsl else driver >= required


def _report_success(gpu: Gpu) -> Finding:
    verify = _show_driver(*(build.source for build in gpu.frameworks))
    named = ((_name_build(build), f" for {_name_kind(build)}" if build.known else "") for build in gpu.frameworks)
    builds = ", ".join(map("".join, named))
    reachable = gpu.nodes or gpu.tegra or (gpu.devices and not gpu.container)  # a container may show the host's devices
    if not reachable:
        none = "no NVIDIA GPU is available to programs here" if gpu.present else "no NVIDIA GPU"
        return Finding.ok(f"{none}; installed: {builds or 'none that needs one'}", verify=verify)
    where = f"driver {gpu.driver}" if gpu.driver else "the GPU"
    message = f"{builds} and {where} fit" if builds else f"{where} is present, and nothing here was built for it"
    cuda = next((build.cuda for build in gpu.frameworks if build.cuda and not gpu.tegra), "")
    needed = find_required_driver(cuda)
    needs = (f"CUDA {cuda} needs a driver >= {needed}; {_DATED}",) if needed else ()
    return Finding.ok(message, evidence=(*_describe_gpu(gpu), *needs), verify=verify)


def _list_obstacles(gpu: Gpu, *, wanted: bool) -> Iterator[tuple[Status, str, str, str]]:
    """Yield each obstacle to using the GPU, gravest first: its status, message, remedy, and command for evidence."""
    driver, nodes, inside = _show_driver(), show_files(*_NODES), gpu.container
    if gpu.mismatch:
        versions = f": {gpu.driver} and {gpu.library}" if gpu.driver and gpu.library else ""
        differ = f"the driver's kernel module and its library are of different versions{versions}"
        what = f"{differ}, so no program gets a GPU"
        again = "restart the machine, or reload the module: the driver was updated since the last boot"
        yield Status.ERROR, what, "restart the container: the host's driver was updated" if inside else again, driver
    if gpu.nodes and gpu.libcuda is None:
        where = "this container has a GPU's device files" if inside else "a GPU's device files are here"
        what = f"{where}, but not libcuda.so.1, the driver's library, so no program gets the GPU"
        handed = f"{_TOOLKIT}, and NVIDIA_DRIVER_CAPABILITIES=compute,utility; --device alone is not enough"
        packages = "install the driver's libraries (Debian: libcuda1; Ubuntu: libnvidia-compute)"
        yield Status.ERROR, what, handed if inside else packages, nodes
    if gpu.nvml is Nvml.HUNG:
        what = f"{gpu.problem}: the driver is dead, or restarts for each program because persistence mode is off"
        look = "look for `Xid` in the kernel's messages; or have nvidia-persistenced keep the driver awake"
        yield Status.WARNING, what, look, driver
    if gpu.nvml is Nvml.REFUSED and gpu.nodes:
        again = _TOOLKIT if inside else "restart the machine, or install its driver again"
        yield Status.WARNING, f"the driver does not report its GPU ({gpu.problem})", again, driver
    if not wanted or gpu.nodes or gpu.tegra:
        return
    if inside and (gpu.driver or gpu.cards):
        yield Status.WARNING, "the host has an NVIDIA GPU that this container was not given", _TOOLKIT, nodes
    elif gpu.cards and not gpu.driver:
        what = "this machine has an NVIDIA GPU, but its driver is not loaded"
        install = "install NVIDIA's driver; after a kernel update, build its module again"
        yield Status.WARNING, what, install, nodes


def _judge_builds(gpu: Gpu) -> Iterator[Finding]:
    """Report each framework whose build does not fit the driver or the GPUs."""
    for build in gpu.frameworks:
        if build.cuda is None and build.known and gpu.usable:
            # A version label such as "+cpu" shows that this build was chosen on purpose, so this is only a hint.
            yield Finding.of(
                Status.HINT if "+" in build.version and not build.rocm else Status.WARNING,
                f"{_name_build(build)} was built for {_name_kind(build)}: it will not use this machine's GPU",
                evidence=_describe_gpu(gpu),
                expected="a build for CUDA",
                observed=build.version,
                remedy=_make_build_remedy(gpu, build),
                verify=_show_driver(build.source),
            )
        elif build.cuda is not None and gpu.present and is_new_enough(gpu, build.cuda) is False:
            yield _report_old_driver(gpu, build, build.cuda)


def _report_old_driver(gpu: Gpu, build: FrameworkBuild, cuda: str) -> Finding:
    least = find_required_driver(cuda)
    least = least.partition(".")[0] if gpu.wsl else least  # Windows and Linux share only the branch
    hosts = "the host's driver" if gpu.container else "the driver"
    where = "Windows's driver" if gpu.wsl else hosts
    needs = f"for CUDA {cuda}, which needs a driver >= {least}"
    return Finding.error(
        f"{_name_build(build)} was built {needs}; this machine has {gpu.driver}",
        evidence=(*_describe_gpu(gpu), _DATED),
        expected=f">= {least}",
        observed=gpu.driver,
        remedy=Remedy(text=f"update {where}; or {_make_build_remedy(gpu, build).text}"),
        verify=_show_driver(build.source),
    )


def _make_build_remedy(gpu: Gpu, build: FrameworkBuild) -> Remedy:
    if gpu.tegra:
        return Remedy(text=f"install NVIDIA's own {build.name} for this JetPack")
    fitting = f"install a build of {build.name} for a CUDA version that this driver and GPU support"
    return Remedy(text=f"{fitting}: {_TORCH_BUILDS}")


def _describe_gpu(gpu: Gpu) -> tuple[str, ...]:
    """Return evidence on the driver and the GPUs, and the problem if some of their data could not be read."""
    offered = f", which offers CUDA {gpu.driver_cuda}" if gpu.driver_cuda else ""
    driver = (f"driver {gpu.driver}{' (of Windows)' if gpu.wsl else ''}{offered}",) if gpu.driver else ()
    devices = (
        (device.name or "a GPU")
        + (f", compute capability {device.capability}" if device.capability else "")
        + (f", {device.memory_bytes / (1 << 30):.0f} GiB" if device.memory_bytes else "")
        for device in gpu.devices
    )
    return (*driver, *devices, *((gpu.problem,) if gpu.problem else ()))


def _name_build(build: FrameworkBuild) -> str:
    return f"{build.name} {build.version.partition('+')[0]}"


def _name_kind(build: FrameworkBuild) -> str:
    kinds = (("CUDA", build.cuda), ("ROCm", build.rocm), ("XPU", build.xpu))
    return next((f"{name} {version}" for name, version in kinds if version), "the CPU")


def _show_driver(*files: PurePath | None) -> str:
    """Return a command that shows the driver's version and the given files, which state a build's CUDA version."""
    return show_text(_VERSION, *(path for path in files if path is not None))
