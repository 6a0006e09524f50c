"""Whether NVIDIA's own wheels for images, DALI and nvImageCodec, are of the CUDA that is here."""

from collections.abc import Iterator

from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.gpu import FrameworkBuild, Gpu
from fastinstall.model.immutable import immutable
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._cuda_remedies import install
from fastinstall.rules.checks._cuda_words import dated, named, portrait, show_driver
from fastinstall.rules.checks._voice import Voice
from fastinstall.rules.cuda import major, required_driver, serves
from fastinstall.rules.cuda_table import DALI_WHEELS, NVIMGCODEC_WHEELS, WHEELS


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


def judge_wheels(say: Voice, context: CheckContext, gpu: Gpu) -> Iterator[Finding]:
    """Each that is installed, against the driver and against torch."""
    torch = next((build for build in gpu.frameworks if build.name == "torch"), None)
    for wheel in _installed(context):
        if gpu.present and serves(gpu, wheel.any_minor) is False:
            yield _too_new(say, context, gpu, wheel)
        elif torch is not None and torch.cuda is not None and major(torch.cuda) != wheel.cuda:
            yield _of_another_cuda(say, context, wheel, torch)


def has_wheels(context: CheckContext) -> bool:
    """Whether any of them is installed."""
    return next(_installed(context), None) is not None


def _installed(context: CheckContext) -> Iterator[_Wheel]:
    names = {distribution.name for distribution in context.facts.distributions}
    for kin in (DALI_WHEELS, NVIMGCODEC_WHEELS):
        yield from (_Wheel(name=name, cuda=cuda, kin=kin) for cuda, name in kin.items() if name in names)


def _too_new(say: Voice, context: CheckContext, gpu: Gpu, wheel: _Wheel) -> Finding:
    least = required_driver(wheel.any_minor)
    return say.error(
        f"{wheel.name} is for CUDA {wheel.cuda}, which needs a driver >= {least}; this machine has {gpu.driver}",
        evidence=(*portrait(gpu), f"{dated()} [{WHEELS}]"),
        expected=f">= {least}",
        observed=gpu.driver,
        remedy=_served(context, gpu, wheel),
        verify=show_driver(),
    )


def _served(context: CheckContext, gpu: Gpu, wheel: _Wheel) -> Remedy:
    served = [name for cuda, name in sorted(wheel.kin.items()) if serves(gpu, f"{cuda}.1")]
    if not served:
        return Remedy(text="update the driver")
    return install(context, "update the driver; or install the wheel that it serves", served[-1])


def _of_another_cuda(say: Voice, context: CheckContext, wheel: _Wheel, torch: FrameworkBuild) -> Finding:
    suited = wheel.kin.get(major(torch.cuda or ""))
    return say.hint(
        f"{wheel.name} is for CUDA {wheel.cuda}, {named(torch)} for CUDA {torch.cuda}: a process loads both CUDAs",
        remedy=install(context, "install the wheel for torch's CUDA instead", suited) if suited else None,
        verify=show_driver(torch.source),
    )
