"""Findings about CUDA builds: whether frameworks and NVIDIA's wheels fit the GPU and driver, and how to get others.

They cover torch, torchvision, and NVIDIA's wheels for images, DALI and nvImageCodec. Each states what it rests on, with
commands that show it.

Commands that install another build go through whoever manages the environment. Versions bear the local label of their
index ("+cu126"): without it, an installer takes any other build of the same version for good enough. Nothing is forced
to be installed again, because Pillow is what torchvision requires.
"""

import shlex
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext, FindingFactory, listing
from fastinstall.doctor.cuda_compatibility import (
    COMPATIBILITY,
    DALI_WHEELS,
    NVIMGCODEC_WHEELS,
    TAKEN,
    WHEEL_INDEX,
    WHEELS,
    architectures_of,
    choose_torch_build,
    covers,
    dali_wheel,
    find_required_driver,
    is_left_behind,
    major,
    minor,
    nvimgcodec_wheel,
    release,
    serves,
    torchvision_for,
)
from fastinstall.doctor.remedies import show_files, show_text
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.machine import FrameworkBuild, Gpu, GpuDevice
from fastinstall.model.request import EnvironmentKind

_VERSION = PurePath("/proc/driver/nvidia/version")
_NODES = (PurePath("/dev/nvidiactl"), PurePath("/dev/nvidia0"))


def describe_gpu(gpu: Gpu) -> tuple[str, ...]:
    """Driver, GPUs, and what nobody told of them."""
    driver = (f"driver {gpu.driver}{_offer(gpu)}",) if gpu.driver else ()
    devices = tuple(_describe_device(device.name, device.capability, device.memory_bytes) for device in gpu.devices)
    return (*driver, *devices, *((gpu.problem,) if gpu.problem else ()))


def describe_data_age() -> str:
    """The age of the data that a verdict rests on."""
    return f"NVIDIA's and pytorch's tables as of {TAKEN}"


def wheels(gpu: Gpu) -> tuple[str, ...]:
    """The wheels that would decode images on this GPU."""
    dali, codec = dali_wheel(gpu), nvimgcodec_wheel(gpu)
    return (f"to decode images on it: {dali} (DALI), {codec} (nvImageCodec)",) if dali and codec else ()


def describe_cuda_build(build: FrameworkBuild) -> str:
    """A build with what it was made for: "torch 2.9.1 for CUDA 12.6"."""
    return f"{name_cuda_build(build)} for {made_for(build)}" if build.known else name_cuda_build(build)


def name_cuda_build(build: FrameworkBuild) -> str:
    """Name and version, without the local label."""
    return f"{build.name} {build.version.partition('+')[0]}"


def made_for(build: FrameworkBuild) -> str:
    """What a build was made for."""
    kinds = (("CUDA", build.cuda), ("ROCm", build.rocm), ("XPU", build.xpu))
    return next((f"{name} {version}" for name, version in kinds if version), "the CPU")


def show_driver(*files: PurePath | None) -> str:
    """The driver's version, and the files that tell what a build was made for."""
    return show_text(_VERSION, *(path for path in files if path is not None))


def show_nodes(*files: PurePath | None) -> str:
    """The device files of the driver, and others."""
    return show_files(*_NODES, *(path for path in files if path is not None))


def _offer(gpu: Gpu) -> str:
    offered = f", which offers CUDA {gpu.driver_cuda}" if gpu.driver_cuda else ""
    return f"{' (of Windows)' if gpu.wsl else ''}{offered}"


def _describe_device(name: str, capability: str, memory: int | None) -> str:
    known = f", compute capability {capability}" if capability else ""
    size = f", {memory / (1 << 30):.0f} GiB" if memory else ""
    return f"{name or 'a GPU'}{known}{size}"


_LIBRARIES = ("nvidia-cuda-runtime", "nvidia-cublas", "nvidia-cudnn")
"""Distributions with CUDA's libraries, by the start of their names: without any, tensorflow's wheel runs on the CPU."""


def judge_builds(say: FindingFactory, context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Each framework against driver and GPUs."""
    for build in gpu.frameworks:
        if build.name != "torchvision" and build.known:
            yield from _judge_build(say, context, gpu, build)


def uses_cuda(context: CheckContext, build: FrameworkBuild) -> bool:
    """Whether somebody meant it to run on CUDA: tensorflow has one wheel for both, and CUDA's libraries apart."""
    return build.cuda is not None and (not build.name.startswith("tensorflow") or _has_libraries(context))


def _judge_build(say: FindingFactory, context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Iterator[Finding]:
    if build.cuda is None:
        yield from _report_build_for_others(say, context, gpu, build)
    elif not gpu.present:
        yield from _report_useless_build(say, context, build)
    elif uses_cuda(context, build):
        found = (*_report_old_driver(say, context, gpu, build), *_report_missing_code(say, context, gpu, build))
        yield from found[:1]


def _report_build_for_others(
    say: FindingFactory, context: CheckContext, gpu: Gpu, build: FrameworkBuild
) -> Iterator[Finding]:
    """A build that leaves a GPU alone that it could have; by the label of its version somebody chose that."""
    if not gpu.usable:
        return
    status = Status.HINT if "+" in build.version and not build.rocm else Status.WARNING
    yield say.say(
        status,
        f"{name_cuda_build(build)} was built for {made_for(build)}: it will not use this machine's GPU",
        evidence=describe_gpu(gpu),
        expected="a build for CUDA",
        observed=build.version,
        remedy=_make_gpu_remedy(context, gpu, build),
        verify=show_driver(build.source),
    )


def _report_useless_build(say: FindingFactory, context: CheckContext, build: FrameworkBuild) -> Iterator[Finding]:
    if build.name != "torch" or not _has_libraries(context):
        return
    yield say.hint(
        f"{name_cuda_build(build)} was built for CUDA {build.cuda}, and there is no GPU of NVIDIA's "
        f"here: gigabytes for nothing",
        evidence=_list_cuda_libraries(context),
        remedy=torch_without_cuda(
            context, "on a machine that never has one, install the build for the CPU", build.version
        ),
        verify=show_driver(build.source),
    )


def _report_old_driver(
    say: FindingFactory, context: CheckContext, gpu: Gpu, build: FrameworkBuild
) -> Iterator[Finding]:
    if build.cuda is None or serves(gpu, build.cuda) is not False:
        return
    required = find_required_driver(build.cuda)
    yield say.error(
        f"{name_cuda_build(build)} was built for CUDA {build.cuda}, "
        f"which needs a driver >= {_name_driver_branch(gpu, required)}; "
        f"this machine has {gpu.driver}",
        evidence=(*describe_gpu(gpu), f"{describe_data_age()} [{COMPATIBILITY}]"),
        expected=f">= {_name_driver_branch(gpu, required)}",
        observed=gpu.driver,
        remedy=_make_driver_remedy(context, gpu, build),
        verify=show_driver(build.source),
    )


def _name_driver_branch(gpu: Gpu, required: str) -> str:
    """Under WSL, Windows's driver counts, whose numbers are the same only in front of the first dot."""
    return required.partition(".")[0] if gpu.wsl else required


def _make_driver_remedy(context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Remedy:
    where = "Windows's driver" if gpu.wsl else "the host's driver" if gpu.container else "the driver"
    other = _make_gpu_remedy(context, gpu, build)
    if other is None or other.command is None:
        return Remedy(text=f"update {where}, or install a build for an earlier CUDA")
    return Remedy(text=f"update {where}; or {other.text}, which this driver serves", command=other.command)


def _report_missing_code(
    say: FindingFactory, context: CheckContext, gpu: Gpu, build: FrameworkBuild
) -> Iterator[Finding]:
    """GPUs that the build has no code for; only where NVML has told their compute capability.

    Where others do, as beside an old card for the screen, nothing is wrong.
    """
    if gpu.tegra or context.facts.cpu.architecture != "x86_64":
        return
    told = [device for device in gpu.devices if device.capability]
    lacking = [device for device in told if _is_lacking_code(build, device)]
    if lacking:
        device, architectures = lacking[0], architectures_of(build)
        yield say.say(
            Status.ERROR if lacking == told else Status.HINT,
            f"{name_cuda_build(build)} for {made_for(build)} has no code for {device.name}, of compute capability "
            f"{device.capability}{'' if lacking == told else ', and runs on the other GPUs'}",
            evidence=(
                *describe_gpu(gpu),
                f"it has code for {', '.join(architectures) or 'later ones'}",
                describe_data_age(),
            ),
            expected=device.capability,
            observed=", ".join(architectures),
            remedy=_make_gpu_remedy(context, gpu, build)
            or Remedy(text="install an earlier or later release, for this GPU"),
            verify=show_driver(build.source),
        )


def _is_lacking_code(build: FrameworkBuild, device: GpuDevice) -> bool:
    architectures = architectures_of(build)
    left_behind = is_left_behind(build.cuda or "", device.capability)
    return left_behind or (bool(architectures) and not covers(architectures, device.capability))


def _make_gpu_remedy(context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Remedy | None:
    if build.name == "torch" and not gpu.tegra:
        return torch_for_gpu(context, gpu, build.version)
    if gpu.tegra:
        return Remedy(text=f"install NVIDIA's own {build.name} for this JetPack")
    return Remedy(text=f"install a build of {build.name} for the CUDA that this driver serves")


def _has_libraries(context: CheckContext) -> bool:
    return any(distribution.name.startswith(_LIBRARIES) for distribution in context.facts.distributions)


def _list_cuda_libraries(context: CheckContext) -> tuple[str, ...]:
    names = [each.name for each in context.facts.distributions if each.name.startswith("nvidia-")]
    return listing(tuple(f"CUDA's libraries: {name}" for name in names))


@immutable
class _Wheel:
    """One that is installed.

    Attributes:
        name: of the distribution.
        cuda: its CUDA major version.
        kin: the same library for every CUDA major version.
    """

    name: str
    cuda: int
    kin: dict[int, str]

    @property
    def any_minor(self) -> str:
        """A version of its CUDA that runs on every driver of the major version."""
        return f"{self.cuda}.1"


def judge_wheels(say: FindingFactory, context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Each that is installed, against the driver and against torch."""
    torch = next((build for build in gpu.frameworks if build.name == "torch"), None)
    for wheel in _list_installed_wheels(context):
        if gpu.present and serves(gpu, wheel.any_minor) is False:
            yield _report_wheel_too_recent(say, context, gpu, wheel)
        elif torch is not None and torch.cuda is not None and major(torch.cuda) != wheel.cuda:
            yield _report_other_cuda(say, context, wheel, torch)


def has_wheels(context: CheckContext) -> bool:
    """Whether any of them is installed."""
    return next(_list_installed_wheels(context), None) is not None


def _list_installed_wheels(context: CheckContext) -> Iterator[_Wheel]:
    names = {distribution.name for distribution in context.facts.distributions}
    for kin in (DALI_WHEELS, NVIMGCODEC_WHEELS):
        yield from (_Wheel(name=name, cuda=cuda, kin=kin) for cuda, name in kin.items() if name in names)


def _report_wheel_too_recent(say: FindingFactory, context: CheckContext, gpu: Gpu, wheel: _Wheel) -> Finding:
    least = find_required_driver(wheel.any_minor)
    return say.error(
        f"{wheel.name} is for CUDA {wheel.cuda}, which needs a driver >= {least}; this machine has {gpu.driver}",
        evidence=(*describe_gpu(gpu), f"{describe_data_age()} [{WHEELS}]"),
        expected=f">= {least}",
        observed=gpu.driver,
        remedy=_make_served_remedy(context, gpu, wheel),
        verify=show_driver(),
    )


def _make_served_remedy(context: CheckContext, gpu: Gpu, wheel: _Wheel) -> Remedy:
    served = [name for cuda, name in sorted(wheel.kin.items()) if serves(gpu, f"{cuda}.1")]
    if not served:
        return Remedy(text="update the driver")
    return install(context, "update the driver; or install the wheel that it serves", served[-1])


def _report_other_cuda(say: FindingFactory, context: CheckContext, wheel: _Wheel, torch: FrameworkBuild) -> Finding:
    suited = wheel.kin.get(major(torch.cuda or ""))
    return say.hint(
        f"{wheel.name} is for CUDA {wheel.cuda}, {name_cuda_build(torch)} for CUDA {torch.cuda}: a "
        f"process loads both CUDAs",
        remedy=install(context, "install the wheel for torch's CUDA instead", suited) if suited else None,
        verify=show_driver(torch.source),
    )


def torch_for_gpu(context: CheckContext, gpu: Gpu, version: str) -> Remedy | None:
    """Suggest the build that suits driver and GPUs, or return None if no known build does."""
    choice = choose_torch_build(gpu, version)
    if choice is None:
        return None
    text = f"install torch {choice.torch} for CUDA {choice.cuda}"
    if _is_of_conda(context):
        return Remedy(text=text, command=_format_conda_command(context, "pytorch-gpu", f"cuda-version={choice.cuda}"))
    return Remedy(
        text=text,
        command=_format_pip_command(context, choice.tag, *_list_torch_requirements(context, choice.torch, choice.tag)),
    )


def torch_without_cuda(context: CheckContext, text: str, version: str) -> Remedy:
    """Have the build for the CPU installed."""
    if _is_of_conda(context):
        return Remedy(text=text, command=_format_conda_command(context, "pytorch-cpu"))
    return Remedy(
        text=text,
        command=_format_pip_command(context, "cpu", *_list_torch_requirements(context, release(version), "cpu")),
    )


def fitting_pair(context: CheckContext, torch: FrameworkBuild) -> Remedy:
    """Have the torchvision installed that belongs to the torch in place."""
    fitting, tag = torchvision_for(torch.version), _find_index_tag(torch)
    text = f"install the torchvision {fitting} that belongs to this torch"
    if _is_of_conda(context):
        return Remedy(text=text, command=_format_conda_command(context, f"torchvision={fitting}"))
    return Remedy(
        text=text,
        command=_format_pip_command(context, tag, *_list_torchvision_requirements(context, torch.version, tag)),
    )


def install(context: CheckContext, text: str, *names: str) -> Remedy:
    """Have distributions installed from the package index."""
    return Remedy(text=text, command=shlex.join((*_choose_installer(context), *names)))


def _list_torch_requirements(context: CheckContext, torch: str, tag: str) -> Iterator[str]:
    """Requirements on torch, and on torchvision where that is installed: neither works with the other's old build."""
    yield _format_requirement("torch", torch, tag)
    yield from _list_torchvision_requirements(context, torch, tag)


def _list_torchvision_requirements(context: CheckContext, torch: str, tag: str) -> Iterator[str]:
    installed = next((each.version for each in context.facts.distributions if each.name == "torchvision"), None)
    fitting = torchvision_for(torch)
    if installed is not None and fitting:
        yield _format_requirement("torchvision", release(installed) if minor(installed) == fitting else fitting, tag)


def _format_requirement(name: str, version: str, tag: str) -> str:
    """One release of an index; any of a minor version where no release is named."""
    if version == minor(version):
        return f"{name}=={version}.*"
    return f"{name}=={version}+{tag}" if tag else f"{name}=={version}"


def _format_pip_command(context: CheckContext, tag: str, *requirements: str) -> str:
    index = ("--index-url", f"{WHEEL_INDEX}/{tag}") if tag else ()
    return shlex.join((*_choose_installer(context), *index, *requirements))


def _choose_installer(context: CheckContext) -> tuple[str, ...]:
    python = str(context.facts.environment.python)
    if context.facts.interpreter.pip_version is None:
        return ("uv", "pip", "install", "--python", python)
    return (python, "-m", "pip", "install")


def _find_index_tag(torch: FrameworkBuild) -> str:
    """The part of the wheel index that a torch is from: "cu126", "cpu"; empty if it does not say."""
    label = torch.version.partition("+")[2]
    return label if label == "cpu" or (label.startswith("cu") and label[2:].isdigit()) else ""


def _is_of_conda(context: CheckContext) -> bool:
    """Whether conda brought the torch in place."""
    conda = context.facts.conda
    return (
        context.facts.environment.kind is EnvironmentKind.CONDA
        and conda is not None
        and any(package.name == "pytorch" for package in conda.packages)
    )


def _format_conda_command(context: CheckContext, *specs: str) -> str:
    from fastinstall.model.conda_packages import conda_command  # noqa: PLC0415 (only in conda environments)

    return conda_command(context.facts, "install", *specs)
