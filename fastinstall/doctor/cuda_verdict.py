"""The verdict on a GPU, its driver and the frameworks that would use it.

- Whether a process can reach the GPU at all: driver, library and device files.
- Whether torch and torchvision are of one build, and only one torch is there.
"""

from collections.abc import Iterator
from dataclasses import replace

from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.cuda_builds import (
    describe_cuda_build,
    describe_data_age,
    describe_gpu,
    fitting_pair,
    has_wheels,
    judge_builds,
    judge_wheels,
    name_cuda_build,
    show_driver,
    show_nodes,
    uses_cuda,
    wheels,
)
from fastinstall.doctor.cuda_compatibility import find_required_driver, major, minor, torchvision_for
from fastinstall.doctor.remedies import show_owner, show_text
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.machine import FrameworkBuild, Gpu, Nvml


def judge_gpu(say: FindingFactory, context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Whether a GPU is reached, whether builds fit it, whether they fit each other; one sentence where all does."""
    wanted = any(uses_cuda(context, build) for build in gpu.frameworks) or has_wheels(context)
    reach = tuple(judge_driver(say, gpu, wanted=wanted))
    fitting = () if _is_grave(reach) else (*judge_builds(say, context, gpu), *judge_wheels(say, context, gpu))
    yield from (*reach, *fitting, *judge_pairs(say, context, gpu)) or (_report_success(say, gpu),)


def _is_grave(findings: tuple[Finding, ...]) -> bool:
    """Whether no program gets a GPU, so that builds are not to be judged by it."""
    return any(finding.status is Status.ERROR for finding in findings)


def _report_success(say: FindingFactory, gpu: Gpu) -> Finding:
    sources = (build.source for build in gpu.frameworks)
    builds = ", ".join(describe_cuda_build(build) for build in gpu.frameworks if build.name != "torchvision")
    if not _is_gpu_reachable(gpu):
        none = "no GPU of NVIDIA's is handed to programs here" if gpu.present else "no GPU of NVIDIA's"
        return say.ok(f"{none}; in place: {builds or 'none that needs one'}", verify=show_driver(*sources))
    where = f"driver {gpu.driver}" if gpu.driver else "the GPU"
    message = f"{builds} and {where} fit" if builds else f"{where} is there, and nothing here was built for it"
    return say.ok(
        message, evidence=(*describe_gpu(gpu), *_describe_driver_need(gpu), *wheels(gpu)), verify=show_driver(*sources)
    )


def _is_gpu_reachable(gpu: Gpu) -> bool:
    """Whether programs here are given a GPU; a container sees its host's in /proc, given or not."""
    return gpu.nodes or gpu.tegra or (bool(gpu.devices) and not gpu.container)


def _describe_driver_need(gpu: Gpu) -> Iterator[str]:
    """The driver that the first build for CUDA needs, which the one in place is not before."""
    for build in gpu.frameworks:
        if build.cuda is not None and (least := find_required_driver(build.cuda)) and not gpu.tegra:
            yield f"CUDA {build.cuda} needs a driver >= {least}; {describe_data_age()}"
            return


_TOOLKIT = "start the container with `--gpus all`, on a host that has nvidia-container-toolkit"


def judge_driver(say: FindingFactory, gpu: Gpu, *, wanted: bool) -> Iterator[Finding]:
    """The gravest of what keeps a process from the GPU; a hint where nothing in the environment would use it.

    Args:
        say: the check's voice.
        gpu: what was observed.
        wanted: whether something in the environment was built for CUDA.
    """
    found = (
        *_report_mismatch(say, gpu),
        *_report_missing_library(say, gpu),
        *_report_silent_driver(say, gpu),
        *_report_hidden_gpu(say, gpu, wanted=wanted),
    )
    yield from found[:1] if wanted else (replace(finding, status=Status.HINT) for finding in found[:1])


def _report_mismatch(say: FindingFactory, gpu: Gpu) -> Iterator[Finding]:
    if gpu.mismatch:
        versions = f": {gpu.driver} and {gpu.library}" if gpu.driver and gpu.library else ""
        yield say.error(
            f"the driver's kernel module and its library are of different versions{versions}, so no program gets a GPU",
            evidence=describe_gpu(gpu),
            expected=gpu.library or "one version",
            observed=gpu.driver,
            remedy=_make_mismatch_remedy(gpu),
            verify=show_driver(),
        )


def _make_mismatch_remedy(gpu: Gpu) -> Remedy:
    if gpu.container:
        return Remedy(text="restart the container after the host's driver was updated; the image brings no driver")
    return Remedy(text="the driver was updated since the machine was started: restart it, or load the module anew")


def _report_missing_library(say: FindingFactory, gpu: Gpu) -> Iterator[Finding]:
    if not gpu.nodes or gpu.libcuda is not None:
        return
    where = "this container has a GPU's device files" if gpu.container else "a GPU's device files are here"
    yield say.error(
        f"{where}, but not libcuda.so.1, the driver's library, so no program gets the GPU",
        evidence=describe_gpu(gpu),
        expected="libcuda.so.1 of the driver in place",
        observed="none where the loader looks",
        remedy=_make_library_remedy(gpu),
        verify=show_nodes(),
    )


def _make_library_remedy(gpu: Gpu) -> Remedy:
    if gpu.container:
        return Remedy(text=f"{_TOOLKIT}, and NVIDIA_DRIVER_CAPABILITIES=compute,utility; --device alone is not enough")
    version = f" {gpu.driver}" if gpu.driver else ""
    return Remedy(text=f"install the driver's libraries{version} (Debian: libcuda1; Ubuntu: libnvidia-compute)")


def _report_silent_driver(say: FindingFactory, gpu: Gpu) -> Iterator[Finding]:
    if gpu.nvml is Nvml.HUNG:
        yield say.warning(
            f"{gpu.problem}: the driver is dead, or starts anew for each program, with persistence mode off",
            evidence=describe_gpu(gpu),
            remedy=Remedy(
                text="look for `Xid` in the kernel's messages; or have nvidia-persistenced keep the driver awake"
            ),
            verify=show_driver(),
        )
    elif gpu.nvml is Nvml.REFUSED and gpu.nodes:
        yield say.warning(
            f"the driver does not give its GPU away ({gpu.problem})",
            evidence=describe_gpu(gpu),
            remedy=Remedy(text=_TOOLKIT if gpu.container else "restart the machine, or install its driver again"),
            verify=show_driver(),
        )


def _report_hidden_gpu(say: FindingFactory, gpu: Gpu, *, wanted: bool) -> Iterator[Finding]:
    """A GPU in the machine that no process here sees; only worth a word where something would use it."""
    if not wanted or gpu.nodes or gpu.tegra or not (gpu.driver or gpu.cards):
        return
    if gpu.container:
        yield say.warning(
            "the host has a GPU of NVIDIA's that was not handed to this container",
            evidence=describe_gpu(gpu),
            remedy=Remedy(text=_TOOLKIT),
            verify=show_nodes(),
        )
    elif not gpu.driver:
        yield say.warning(
            "a GPU of NVIDIA's is in this machine, but its driver is not loaded",
            remedy=Remedy(text="install NVIDIA's driver; after an update of the kernel, build its module again"),
            verify=show_nodes(),
        )


def judge_pairs(say: FindingFactory, context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """What does not belong together."""
    builds = {build.name: build for build in gpu.frameworks}
    torch, torchvision = builds.get("torch"), builds.get("torchvision")
    if torch is not None and torchvision is not None:
        yield from _report_vision_mismatch(say, context, torch, torchvision)
    if torch is not None:
        yield from _report_duplicate_torch(say, context, torch)


def _report_vision_mismatch(
    say: FindingFactory, context: CheckContext, torch: FrameworkBuild, vision: FrameworkBuild
) -> Iterator[Finding]:
    fitting = torchvision_for(torch.version)
    if fitting and minor(vision.version) != fitting:
        yield say.error(
            f"{name_cuda_build(vision)} does not belong to {name_cuda_build(torch)}: its operators will not load",
            evidence=_describe_torch_requirement(vision),
            expected=f"torchvision {fitting}",
            observed=f"torchvision {vision.version}",
            remedy=fitting_pair(context, torch),
            verify=_show(torch, vision),
        )
    elif torch.known and vision.known and major(torch.cuda or "") != major(vision.cuda or ""):
        yield say.error(
            f"torch was built for {_name_build_kind(torch)} and torchvision for {_name_build_kind(vision)}: "
            "they will not work together",
            expected=torch.version,
            observed=vision.version,
            remedy=fitting_pair(context, torch),
            verify=_show(torch, vision),
        )
    elif vision.wants_torch and vision.wants_torch != torch.version.partition("+")[0]:
        yield say.hint(
            f"{name_cuda_build(vision)} was made with torch {vision.wants_torch}, and torch "
            f"{torch.version} is in place",
            evidence=_describe_torch_requirement(vision),
            verify=_show(torch, vision),
        )


def _describe_torch_requirement(vision: FrameworkBuild) -> tuple[str, ...]:
    wants = (f"its metadata wants torch=={vision.wants_torch}",) if vision.wants_torch else ()
    return (*wants, describe_data_age())


def _name_build_kind(build: FrameworkBuild) -> str:
    return f"CUDA {build.cuda}" if build.cuda else "the CPU"


def _show(*builds: FrameworkBuild) -> str:
    return show_text(*(build.source for build in builds if build.source is not None))


def _report_duplicate_torch(say: FindingFactory, context: CheckContext, torch: FrameworkBuild) -> Iterator[Finding]:
    claimants = _list_torch_claimants(context.facts)
    if len(claimants) > 1:
        yield say.warning(
            f"{len(claimants)} installations claim torch's files: {' and '.join(claimants)}",
            evidence=(f"{torch.source} says {torch.version}",),
            expected="one torch",
            observed=", ".join(claimants),
            remedy=Remedy(text="remove both, then install one of them again"),
            verify=show_owner(context, "torch"),
        )


def _list_torch_claimants(facts: Facts) -> tuple[str, ...]:
    """Who has put a torch there; conda's package and its own dist-info are one and the same."""
    found = [each for each in facts.distributions if each.name == "torch"]
    packages = [each for each in facts.conda.packages if each.name == "pytorch"] if facts.conda is not None else []
    of_conda = {package.version for package in packages}
    others = [each for each in found if each.installer != "conda" and each.version not in of_conda]
    rest = [each for each in found if each not in others]
    pips = [f"torch {each.version} ({each.installer or 'unknown installer'})" for each in others]
    own = [f"torch {each.version}" for each in rest] if not packages else []
    return (*(f"conda's {package.dist}" for package in packages), *own, *pips)
