"""Everything that is to be said of a GPU, its driver and the frameworks that would use it."""

from collections.abc import Iterator

from fastinstall.model.finding import Finding, Status
from fastinstall.model.gpu import Gpu
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._cuda_builds import judge_builds, uses_cuda
from fastinstall.rules.checks._cuda_driver import judge_driver
from fastinstall.rules.checks._cuda_pairs import judge_pairs
from fastinstall.rules.checks._cuda_wheels import has_wheels, judge_wheels
from fastinstall.rules.checks._cuda_words import dated, described, portrait, show_driver, wheels
from fastinstall.rules.checks._voice import Voice
from fastinstall.rules.cuda import required_driver


def judge_gpu(say: Voice, context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Whether a GPU is reached, whether builds fit it, whether they fit each other; one sentence where all does."""
    wanted = any(uses_cuda(context, build) for build in gpu.frameworks) or has_wheels(context)
    reach = tuple(judge_driver(say, gpu, wanted=wanted))
    fitting = () if _is_grave(reach) else (*judge_builds(say, context, gpu), *judge_wheels(say, context, gpu))
    yield from (*reach, *fitting, *judge_pairs(say, context, gpu)) or (_well(say, gpu),)


def _is_grave(findings: tuple[Finding, ...]) -> bool:
    """Whether no program gets a GPU, so that builds are not to be judged by it."""
    return any(finding.status is Status.ERROR for finding in findings)


def _well(say: Voice, gpu: Gpu) -> Finding:
    sources = (build.source for build in gpu.frameworks)
    builds = ", ".join(described(build) for build in gpu.frameworks if build.name != "torchvision")
    if not _reaches(gpu):
        none = "no GPU of NVIDIA's is handed to programs here" if gpu.present else "no GPU of NVIDIA's"
        return say.ok(f"{none}; in place: {builds or 'none that needs one'}", verify=show_driver(*sources))
    where = f"driver {gpu.driver}" if gpu.driver else "the GPU"
    message = f"{builds} and {where} fit" if builds else f"{where} is there, and nothing here was built for it"
    return say.ok(message, evidence=(*portrait(gpu), *_needs(gpu), *wheels(gpu)), verify=show_driver(*sources))


def _reaches(gpu: Gpu) -> bool:
    """Whether programs here are given a GPU; a container sees its host's in /proc, given or not."""
    return gpu.nodes or gpu.tegra or (bool(gpu.devices) and not gpu.container)


def _needs(gpu: Gpu) -> Iterator[str]:
    """The driver that the first build for CUDA needs, which the one in place is not before."""
    for build in gpu.frameworks:
        if build.cuda is not None and (least := required_driver(build.cuda)) and not gpu.tegra:
            yield f"CUDA {build.cuda} needs a driver >= {least}; {dated()}"
            return
