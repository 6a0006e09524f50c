"""The verdict on a GPU, its driver, and what in the environment would use it.

First whether a process gets the GPU at all: kernel module, library and device files of the driver. Then whether each
build for CUDA runs on this driver and has code for this GPU.

Drivers: verified on 2026-11-22 against copies of NVIDIA's release notes for CUDA 13.2 Update 2 (table 3) and of "Minor
Version Compatibility" (the branches 450, 525 and 580). Not verified, for want of a copy: that the branches begin at
exactly 525.60.13 and 580.65.06, which are the first drivers of CUDA 12.0 and 13.0 in table 3.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.architecture import X86_64
from fastinstall.doctor.check_context import CheckContext, FindingFactory, shorten_evidence
from fastinstall.doctor.remedies import show_files, show_text
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.gpu import FrameworkBuild, Gpu, GpuDevice, Nvml

_SAY = FindingFactory("cuda")
_DATED = "NVIDIA's tables as of 2026-11-22 [https://docs.nvidia.com/deploy/cuda-compatibility/]"
_TORCH_BUILDS = "https://pytorch.org/get-started/previous-versions/"

_MINIMUM_DRIVERS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""The least Linux driver for any minor version of a CUDA major version ("minor version compatibility").

Source: CUDA Toolkit release notes, table 2, and CUDA Compatibility, "Minor Version Compatibility".
"""

_OTHER_DRIVERS = {"11.0": "450.36.06", "10.2": "440.33", "10.1": "418.39", "10.0": "410.48", "9.2": "396.26"}
"""The least driver of versions that have one of their own. Source: CUDA Toolkit release notes, table 3."""

_LEAST_CAPABILITIES = {11: (3, 5), 12: (5, 0), 13: (7, 5)}
"""The least compute capability that a CUDA major version compiles for.

13 has dropped Maxwell, Pascal and Volta (5.0 to 7.2). Source: CUDA Toolkit release notes, "Deprecated or Dropped
Features", and for 11 and 12 cuFFT's "Deprecated Functionality".
"""

_FIRST_VERSIONS = {9: (11, 8), 10: (12, 8), 12: (12, 8)}
"""The first CUDA version that compiles for GPUs of a major compute capability. Source: CUDA Toolkit release notes."""

_WHEELS = re.compile(r"nvidia-(?:dali-cuda(?P<dali>\d\d)0|nvimgcodec-cu(?P<codec>\d\d))")
"""DALI and nvImageCodec, whose names tell the major version of their CUDA."""

_LIBRARIES = ("nvidia-cuda-runtime", "nvidia-cublas", "nvidia-cudnn")
"""Distributions with CUDA's libraries, by the start of their names: without any, tensorflow's wheel runs on the CPU."""

_VERSION = PurePath("/proc/driver/nvidia/version")
_NODES = (PurePath("/dev/nvidiactl"), PurePath("/dev/nvidia0"))
_TOOLKIT = "start the container with `--gpus all`, on a host that has nvidia-container-toolkit"


def judge_gpu(context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Judge whether a GPU is reached, and whether builds fit it; yield one sentence if all is well."""
    wanted = any(_uses_cuda(context, build) for build in gpu.frameworks) or any(_list_wheels(context))
    obstacle = next(_list_obstacles(gpu, wanted=wanted), None)
    if obstacle is not None:
        status, message, remedy, verify = obstacle
        yield _SAY.say(
            status if wanted else Status.HINT,
            message,
            evidence=_describe_gpu(gpu),
            remedy=Remedy(text=remedy),
            verify=verify,
        )
        if status is Status.ERROR and wanted:
            return  # no program gets a GPU, so builds are not judged by it
    builds = (*_judge_builds(context, gpu), *_judge_wheels(context, gpu))
    yield from builds
    if obstacle is None and not builds:
        yield _report_success(gpu)


def find_required_driver(cuda: str) -> str:
    """Find the oldest Linux driver for a CUDA version ("12.6"); empty if the data lacks it."""
    parts = (*numbers(cuda), 0)
    return _OTHER_DRIVERS.get(".".join(map(str, numbers(cuda)[:2])), "") or _MINIMUM_DRIVERS.get(parts[0], "")


def serves(gpu: Gpu, cuda: str) -> bool | None:
    """Tell whether the driver is new enough for a CUDA version, or return None if unknown.

    NVML's word on the highest CUDA version counts first. Under WSL the driver is Windows's, whose numbers are others
    within the same branch. A Tegra's numbers mean something else altogether. A package for forward compatibility
    stands in for a later driver.
    """
    if gpu.tegra or not cuda:
        return None
    wanted, offered = numbers(cuda), numbers(gpu.driver_cuda)
    if offered >= wanted or (offered[:1] == wanted[:1] and wanted[0] >= min(_MINIMUM_DRIVERS)):
        return True
    required, driver = numbers(find_required_driver(cuda)), max(numbers(gpu.driver), numbers(gpu.compat))
    if not driver or not required:
        return None
    return driver[0] >= required[0] if gpu.wsl else driver >= required


_USUAL_BUILDS = frozenset({X86_64.machine})
"""Where the frameworks' builds have the capabilities that stand here; those for Arm servers have others."""


def lacks_code(build: FrameworkBuild, device: GpuDevice) -> bool:
    """Tell whether a build has no code for a GPU: its CUDA has dropped it or came before it, or its own list says so.

    Machine code runs on GPUs of the same major version and an equal or later minor one, PTX on all later ones.
    Source: CUDA C++ Programming Guide, "Binary Compatibility" and "PTX Compatibility".
    """
    own, cuda = numbers(device.capability), numbers(build.cuda or "")
    if not own or not cuda:
        return False
    if build.architectures:
        return not any(
            numbers(each) <= own and (numbers(each)[:1] == own[:1] or each.endswith("+PTX"))
            for each in build.architectures
        )
    first = _FIRST_VERSIONS.get(own[0], ()) if build.name == "torch" and len(cuda) > 1 else ()
    return own < _LEAST_CAPABILITIES.get(cuda[0], ()) or cuda[:2] < first


def numbers(version: str) -> tuple[int, ...]:
    """Return a version's leading numbers, to compare by: (550, 54, 15) of "550.54.15", (2, 9, 1) of "2.9.1+cu126".

    >>> numbers("2.9.1+cu126")
    (2, 9, 1)
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _report_success(gpu: Gpu) -> Finding:
    verify = _show_driver(*(build.source for build in gpu.frameworks))
    judged = [build for build in gpu.frameworks if build.name != "torchvision"]
    builds = ", ".join(
        f"{_name_build(build)} for {_name_kind(build)}" if build.known else _name_build(build) for build in judged
    )
    reachable = gpu.nodes or gpu.tegra or (gpu.devices and not gpu.container)  # /proc of a container is its host's
    if not reachable:
        none = "no NVIDIA GPU is available to programs here" if gpu.present else "no NVIDIA GPU"
        return _SAY.ok(f"{none}; installed: {builds or 'none that needs one'}", verify=verify)
    where = f"driver {gpu.driver}" if gpu.driver else "the GPU"
    message = f"{builds} and {where} fit" if builds else f"{where} is present, and nothing here was built for it"
    needed = [(build.cuda, find_required_driver(build.cuda)) for build in judged if build.cuda and not gpu.tegra]
    needs = [f"CUDA {cuda} needs a driver >= {driver}; {_DATED}" for cuda, driver in needed[:1] if driver]
    return _SAY.ok(message, evidence=(*_describe_gpu(gpu), *needs), verify=verify)


def _list_obstacles(gpu: Gpu, *, wanted: bool) -> Iterator[tuple[Status, str, str, str]]:
    """List what keeps a process from the GPU, the gravest first: how grave, in words, what to do, and what shows it."""
    driver, nodes, inside = _show_driver(), show_files(*_NODES), gpu.container
    if gpu.mismatch:
        versions = f": {gpu.driver} and {gpu.library}" if gpu.driver and gpu.library else ""
        what = (
            f"the driver's kernel module and its library are of different versions{versions}, so no program gets a GPU"
        )
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


def _judge_builds(context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Judge each framework by driver and GPUs."""
    for build in gpu.frameworks:
        if build.name == "torchvision" or not build.known:
            continue
        if build.cuda is None:
            yield from _report_build_for_others(gpu, build)
        elif not gpu.present:
            yield from _report_useless_build(context, build)
        elif _uses_cuda(context, build):
            yield from (*_report_old_driver(gpu, build, build.cuda), *_report_missing_code(context, gpu, build))[:1]


def _report_build_for_others(gpu: Gpu, build: FrameworkBuild) -> Iterator[Finding]:
    """Report a build that leaves a GPU alone that it could use; its version's label tells that somebody chose it."""
    if gpu.usable:
        yield _SAY.say(
            Status.HINT if "+" in build.version and not build.rocm else Status.WARNING,
            f"{_name_build(build)} was built for {_name_kind(build)}: it will not use this machine's GPU",
            evidence=_describe_gpu(gpu),
            expected="a build for CUDA",
            observed=build.version,
            remedy=_make_build_remedy(gpu, build),
            verify=_show_driver(build.source),
        )


def _report_useless_build(context: CheckContext, build: FrameworkBuild) -> Iterator[Finding]:
    if build.name == "torch" and _has_libraries(context):
        names = [each.name for each in context.facts.distributions if each.name.startswith("nvidia-")]
        yield _SAY.hint(
            f"{_name_build(build)} was built for CUDA {build.cuda}, but there is no NVIDIA GPU here: "
            "gigabytes for nothing",
            evidence=shorten_evidence(f"CUDA's libraries: {name}" for name in names),
            remedy=Remedy(text=f"if this machine never gets one, install the build for the CPU: {_TORCH_BUILDS}"),
            verify=_show_driver(build.source),
        )


def _report_old_driver(gpu: Gpu, build: FrameworkBuild, cuda: str) -> Iterator[Finding]:
    if serves(gpu, cuda) is False:
        least = find_required_driver(cuda)
        least = least.partition(".")[0] if gpu.wsl else least  # Windows's numbers are the same in front of the dot only
        hosts = "the host's driver" if gpu.container else "the driver"
        where = "Windows's driver" if gpu.wsl else hosts
        what, update = f"{_name_build(build)} was built", f"update {where}; or {_make_build_remedy(gpu, build).text}"
        yield _report_driver(gpu, f"{what} for CUDA {cuda}", least, update, _show_driver(build.source))


def _judge_wheels(context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Judge NVIDIA's wheels for images by the driver."""
    for name, cuda in _list_wheels(context):
        if gpu.present and serves(gpu, f"{cuda}.1") is False:
            update = "update the driver; or install the wheel for the CUDA version that it supports"
            least = find_required_driver(f"{cuda}.1")
            yield _report_driver(gpu, f"{name} is for CUDA {cuda}", least, update, _show_driver())


def _report_driver(gpu: Gpu, what: str, least: str, update: str, verify: str) -> Finding:
    return _SAY.error(
        f"{what}, which needs a driver >= {least}; this machine has {gpu.driver}",
        evidence=(*_describe_gpu(gpu), _DATED),
        expected=f">= {least}",
        observed=gpu.driver,
        remedy=Remedy(text=update),
        verify=verify,
    )


def _report_missing_code(context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Iterator[Finding]:
    """Report GPUs that the build has no code for; a hint if it runs on others, as with an old card for the screen."""
    told = [device for device in gpu.devices if device.capability]
    lacking = [device for device in told if lacks_code(build, device)]
    if lacking and not gpu.tegra and context.facts.cpu.architecture in _USUAL_BUILDS:
        device, alone = lacking[0], lacking == told
        yield _SAY.say(
            Status.ERROR if alone else Status.HINT,
            f"{_name_build(build)} for {_name_kind(build)} has no code for {device.name}, of compute capability "
            f"{device.capability}{'' if alone else ', and runs on the other GPUs'}",
            evidence=(*_describe_gpu(gpu), _DATED),
            expected=device.capability,
            observed=", ".join(build.architectures) or f"CUDA {build.cuda}",
            remedy=_make_build_remedy(gpu, build),
            verify=_show_driver(build.source),
        )


def _list_wheels(context: CheckContext) -> Iterator[tuple[str, int]]:
    for distribution in context.facts.distributions:
        if match := _WHEELS.fullmatch(distribution.name):
            yield distribution.name, int(match["dali"] or match["codec"])


def _uses_cuda(context: CheckContext, build: FrameworkBuild) -> bool:
    """Tell whether somebody meant it to run on CUDA: tensorflow has one wheel for both, and CUDA's libraries apart."""
    return build.cuda is not None and (not build.name.startswith("tensorflow") or _has_libraries(context))


def _has_libraries(context: CheckContext) -> bool:
    return any(distribution.name.startswith(_LIBRARIES) for distribution in context.facts.distributions)


def _make_build_remedy(gpu: Gpu, build: FrameworkBuild) -> Remedy:
    if gpu.tegra:
        return Remedy(text=f"install NVIDIA's own {build.name} for this JetPack")
    where = f": {_TORCH_BUILDS}" if build.name == "torch" else ""
    return Remedy(text=f"install a build of {build.name} for a CUDA version that this driver and GPU support{where}")


def _describe_gpu(gpu: Gpu) -> tuple[str, ...]:
    """Describe driver, GPUs, and what nobody told of them."""
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
    """Return the driver's version, and the files that tell what a build was made for."""
    return show_text(_VERSION, *(path for path in files if path is not None))
