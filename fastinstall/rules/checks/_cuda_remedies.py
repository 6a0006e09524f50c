"""Commands that bring another build of torch or torchvision, by whoever manages the environment.

Versions bear the local label of their index ("+cu126"): without it, an installer takes any other build of the same
version for good enough. Nothing is forced to be installed again, because Pillow is what torchvision requires.
"""

import shlex
from collections.abc import Iterator

from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.finding import Remedy
from fastinstall.model.gpu import FrameworkBuild, Gpu
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.cuda import minor, release, suited_torch, torchvision_for
from fastinstall.rules.cuda_torch import WHEEL_INDEX


def torch_for_gpu(context: CheckContext, gpu: Gpu, version: str) -> Remedy | None:
    """Suggest the build that suits driver and GPUs, or return None if no known build does."""
    choice = suited_torch(gpu, version)
    if choice is None:
        return None
    text = f"install torch {choice.torch} for CUDA {choice.cuda}"
    if _is_of_conda(context):
        return Remedy(text=text, command=_conda(context, "pytorch-gpu", f"cuda-version={choice.cuda}"))
    return Remedy(text=text, command=_pip(context, choice.tag, *_both(context, choice.torch, choice.tag)))


def torch_without_cuda(context: CheckContext, text: str, version: str) -> Remedy:
    """Have the build for the CPU installed."""
    if _is_of_conda(context):
        return Remedy(text=text, command=_conda(context, "pytorch-cpu"))
    return Remedy(text=text, command=_pip(context, "cpu", *_both(context, release(version), "cpu")))


def fitting_pair(context: CheckContext, torch: FrameworkBuild) -> Remedy:
    """Have the torchvision installed that belongs to the torch in place."""
    fitting, tag = torchvision_for(torch.version), _tag(torch)
    text = f"install the torchvision {fitting} that belongs to this torch"
    if _is_of_conda(context):
        return Remedy(text=text, command=_conda(context, f"torchvision={fitting}"))
    return Remedy(text=text, command=_pip(context, tag, *_torchvision(context, torch.version, tag)))


def install(context: CheckContext, text: str, *names: str) -> Remedy:
    """Have distributions installed from the package index."""
    return Remedy(text=text, command=shlex.join((*_installer(context), *names)))


def _both(context: CheckContext, torch: str, tag: str) -> Iterator[str]:
    """Requirements on torch, and on torchvision where that is installed: neither works with the other's old build."""
    yield _labelled("torch", torch, tag)
    yield from _torchvision(context, torch, tag)


def _torchvision(context: CheckContext, torch: str, tag: str) -> Iterator[str]:
    installed = next((each.version for each in context.facts.distributions if each.name == "torchvision"), None)
    fitting = torchvision_for(torch)
    if installed is not None and fitting:
        yield _labelled("torchvision", release(installed) if minor(installed) == fitting else fitting, tag)


def _labelled(name: str, version: str, tag: str) -> str:
    """One release of an index; any of a minor version where no release is named."""
    if version == minor(version):
        return f"{name}=={version}.*"
    return f"{name}=={version}+{tag}" if tag else f"{name}=={version}"


def _pip(context: CheckContext, tag: str, *requirements: str) -> str:
    index = ("--index-url", f"{WHEEL_INDEX}/{tag}") if tag else ()
    return shlex.join((*_installer(context), *index, *requirements))


def _installer(context: CheckContext) -> tuple[str, ...]:
    python = str(context.facts.environment.python)
    if context.facts.interpreter.pip_version is None:
        return ("uv", "pip", "install", "--python", python)
    return (python, "-m", "pip", "install")


def _tag(torch: FrameworkBuild) -> str:
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


def _conda(context: CheckContext, *specs: str) -> str:
    from fastinstall.rules.conda_names import conda_command  # noqa: PLC0415 (only in conda environments)

    return conda_command(context.facts, "install", *specs)
