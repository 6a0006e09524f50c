"""Whether frameworks were built for the GPU and the driver that are here."""

from collections.abc import Iterator

from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.gpu import FrameworkBuild, Gpu, GpuDevice
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._cuda_remedies import torch_for_gpu, torch_without_cuda
from fastinstall.rules.checks._cuda_words import dated, made_for, named, portrait, show_driver
from fastinstall.rules.checks._voice import Voice, listing
from fastinstall.rules.cuda import architectures_of, covers, is_left_behind, required_driver, serves
from fastinstall.rules.cuda_table import COMPATIBILITY

_LIBRARIES = ("nvidia-cuda-runtime", "nvidia-cublas", "nvidia-cudnn")
"""Distributions with CUDA's libraries, by the start of their names: without any, tensorflow's wheel runs on the CPU."""


def judge_builds(say: Voice, context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Each framework against driver and GPUs."""
    for build in gpu.frameworks:
        if build.name != "torchvision" and build.known:
            yield from _judged(say, context, gpu, build)


def uses_cuda(context: CheckContext, build: FrameworkBuild) -> bool:
    """Whether somebody meant it to run on CUDA: tensorflow has one wheel for both, and CUDA's libraries apart."""
    return build.cuda is not None and (not build.name.startswith("tensorflow") or _has_libraries(context))


def _judged(say: Voice, context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Iterator[Finding]:
    if build.cuda is None:
        yield from _for_others(say, context, gpu, build)
    elif not gpu.present:
        yield from _for_nothing(say, context, build)
    elif uses_cuda(context, build):
        found = (*_too_old_a_driver(say, context, gpu, build), *_no_code(say, context, gpu, build))
        yield from found[:1]


def _for_others(say: Voice, context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Iterator[Finding]:
    """A build that leaves a GPU alone that it could have; by the label of its version somebody chose that."""
    if not gpu.usable:
        return
    status = Status.HINT if "+" in build.version and not build.rocm else Status.WARNING
    yield say.say(
        status,
        f"{named(build)} was built for {made_for(build)}: it will not use this machine's GPU",
        evidence=portrait(gpu),
        expected="a build for CUDA",
        observed=build.version,
        remedy=_for_gpu(context, gpu, build),
        verify=show_driver(build.source),
    )


def _for_nothing(say: Voice, context: CheckContext, build: FrameworkBuild) -> Iterator[Finding]:
    if build.name != "torch" or not _has_libraries(context):
        return
    yield say.hint(
        f"{named(build)} was built for CUDA {build.cuda}, and there is no GPU of NVIDIA's here: gigabytes for nothing",
        evidence=_libraries(context),
        remedy=torch_without_cuda(
            context, "on a machine that never has one, install the build for the CPU", build.version
        ),
        verify=show_driver(build.source),
    )


def _too_old_a_driver(say: Voice, context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Iterator[Finding]:
    if build.cuda is None or serves(gpu, build.cuda) is not False:
        return
    required = required_driver(build.cuda)
    yield say.error(
        f"{named(build)} was built for CUDA {build.cuda}, which needs a driver >= {_branch(gpu, required)}; "
        f"this machine has {gpu.driver}",
        evidence=(*portrait(gpu), f"{dated()} [{COMPATIBILITY}]"),
        expected=f">= {_branch(gpu, required)}",
        observed=gpu.driver,
        remedy=_either(context, gpu, build),
        verify=show_driver(build.source),
    )


def _branch(gpu: Gpu, required: str) -> str:
    """Under WSL, Windows's driver counts, whose numbers are the same only in front of the first dot."""
    return required.partition(".")[0] if gpu.wsl else required


def _either(context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Remedy:
    where = "Windows's driver" if gpu.wsl else "the host's driver" if gpu.container else "the driver"
    other = _for_gpu(context, gpu, build)
    if other is None or other.command is None:
        return Remedy(text=f"update {where}, or install a build for an earlier CUDA")
    return Remedy(text=f"update {where}; or {other.text}, which this driver serves", command=other.command)


def _no_code(say: Voice, context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Iterator[Finding]:
    """GPUs that the build has no code for; only where NVML has told their compute capability.

    Where others do, as beside an old card for the screen, nothing is wrong.
    """
    if gpu.tegra or context.facts.cpu.architecture != "x86_64":
        return
    told = [device for device in gpu.devices if device.capability]
    lacking = [device for device in told if _lacks(build, device)]
    if lacking:
        device, architectures = lacking[0], architectures_of(build)
        yield say.say(
            Status.ERROR if lacking == told else Status.HINT,
            f"{named(build)} for {made_for(build)} has no code for {device.name}, of compute capability "
            f"{device.capability}{'' if lacking == told else ', and runs on the other GPUs'}",
            evidence=(*portrait(gpu), f"it has code for {', '.join(architectures) or 'later ones'}", dated()),
            expected=device.capability,
            observed=", ".join(architectures),
            remedy=_for_gpu(context, gpu, build) or Remedy(text="install an earlier or later release, for this GPU"),
            verify=show_driver(build.source),
        )


def _lacks(build: FrameworkBuild, device: GpuDevice) -> bool:
    architectures = architectures_of(build)
    left_behind = is_left_behind(build.cuda or "", device.capability)
    return left_behind or (bool(architectures) and not covers(architectures, device.capability))


def _for_gpu(context: CheckContext, gpu: Gpu, build: FrameworkBuild) -> Remedy | None:
    if build.name == "torch" and not gpu.tegra:
        return torch_for_gpu(context, gpu, build.version)
    if gpu.tegra:
        return Remedy(text=f"install NVIDIA's own {build.name} for this JetPack")
    return Remedy(text=f"install a build of {build.name} for the CUDA that this driver serves")


def _has_libraries(context: CheckContext) -> bool:
    return any(distribution.name.startswith(_LIBRARIES) for distribution in context.facts.distributions)


def _libraries(context: CheckContext) -> tuple[str, ...]:
    names = [each.name for each in context.facts.distributions if each.name.startswith("nvidia-")]
    return listing(tuple(f"CUDA's libraries: {name}" for name in names))
