"""Whether a driver serves a CUDA version, a build a GPU, and which build of torch would suit both. Pure."""

import re

from fastinstall.model.gpu import FrameworkBuild, Gpu
from fastinstall.model.immutable import immutable
from fastinstall.rules.cuda_table import (
    DALI_WHEELS,
    FIRST_DRIVERS,
    LEAST_CAPABILITIES,
    MINIMUM_DRIVERS,
    NVIMGCODEC_WHEELS,
)
from fastinstall.rules.cuda_torch import TORCH_BUILDS, TORCHVISION, TorchBuilds

_MAJORS = sorted(MINIMUM_DRIVERS, reverse=True)
_WITH_MINORS = 11
"""The first CUDA major version whose minor versions run on any driver of the major version."""


@immutable
class TorchChoice:
    """A published build of torch.

    Attributes:
        torch: "2.9.1", or "2.7" where any release of that minor version will do.
        cuda: "12.6".
    """

    torch: str
    cuda: str

    @property
    def tag(self) -> str:
        """As the wheel index names it: "cu126"."""
        return f"cu{self.cuda.replace('.', '')}"


def numbers(version: str) -> tuple[int, ...]:
    """A version's leading numbers, to compare by: (550, 54, 15) of "550.54.15", (2, 9, 1) of "2.9.1+cu126"."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def minor(version: str) -> str:
    """The first two numbers: "2.9" of "2.9.1+cu126"."""
    return ".".join(map(str, numbers(version)[:2]))


def major(version: str) -> int:
    """The first number; 0 where there is none."""
    return numbers(version)[0] if numbers(version) else 0


def required_driver(cuda: str) -> str:
    """Return the oldest Linux driver for a CUDA version, or "" if the data lacks it."""
    if major(cuda) >= _WITH_MINORS:
        return FIRST_DRIVERS["11.0"] if minor(cuda) == "11.0" else MINIMUM_DRIVERS.get(major(cuda), "")
    return FIRST_DRIVERS.get(minor(cuda), "")


def serves(gpu: Gpu, cuda: str) -> bool | None:
    """Tell whether the driver is new enough for a CUDA version, or return None if unknown.

    NVML's word on the highest CUDA version counts first. Under WSL the driver is Windows's, whose numbers are others
    within the same branch. A Tegra's numbers mean something else altogether. A package for forward compatibility
    stands in for a later driver.
    """
    if gpu.tegra or not cuda:
        return None
    if gpu.driver_cuda and _offers(gpu.driver_cuda, cuda):
        return True
    required, driver = numbers(required_driver(cuda)), max(numbers(gpu.driver), numbers(gpu.compat))
    if not driver or not required:
        return None
    return driver[0] >= required[0] if gpu.wsl else driver >= required


def _offers(offered: str, cuda: str) -> bool:
    if major(cuda) >= _WITH_MINORS:
        return major(offered) >= major(cuda)
    return numbers(offered) >= numbers(cuda)


def covers(architectures: tuple[str, ...], capability: str) -> bool:
    """Whether code for these compute capabilities runs on a GPU of that one.

    Machine code runs on GPUs of the same major version and an equal or later minor one, PTX on all later ones.
    Source: CUDA C++ Programming Guide, "Binary Compatibility" and "PTX Compatibility".
    """
    device = numbers(capability)
    for architecture in architectures:
        own = numbers(architecture)
        if own <= device and (own[:1] == device[:1] or architecture.endswith("+PTX")):
            return True
    return False


def is_left_behind(cuda: str, capability: str) -> bool:
    """Whether a CUDA version has no code for GPUs that old at all."""
    least = LEAST_CAPABILITIES.get(major(cuda))
    return least is not None and numbers(capability) < numbers(least)


def architectures_of(build: FrameworkBuild) -> tuple[str, ...]:
    """Compute capabilities that a build has code for: its own word, or the data on published wheels; empty if unknown.

    Only wheels of pytorch.org bear the label "+cu126"; other builds of torch have other lists.
    """
    if build.architectures or build.name != "torch" or build.cuda is None:
        return build.architectures
    published = re.fullmatch(r"[\d.]+\+cu\d+", build.version) is not None
    return next((row.architectures for row in _of_torch(build.version) if published and row.cuda == build.cuda), ())


def suited_torch(gpu: Gpu, torch: str) -> TorchChoice | None:
    """The published build that suits driver and most GPUs: of this version of torch, else of the latest that has one.

    Of several it is the latest whose own driver is not later than the one in place, else the earliest. None where there
    is none, or where this torch is later than the data.
    """
    known = sorted({version for row in TORCH_BUILDS for version in (row.first, row.last)}, key=numbers, reverse=True)
    if numbers(minor(torch)) > numbers(known[0]):
        return None
    for version in (release(torch), *(each for each in known if numbers(each) < numbers(minor(torch)))):
        served = [row for row in _of_torch(version) if serves(gpu, row.cuda)]
        most = max((_suited(row, gpu) for row in served), default=0)
        fitting = [row.cuda for row in served if _suited(row, gpu) == most]
        if most:
            return TorchChoice(torch=version, cuda=_preferred(fitting, gpu.driver))
    return None


def release(version: str) -> str:
    """A released version without its local label, "2.9.1"; the minor version where it is no release."""
    base = version.partition("+")[0]
    return base if re.fullmatch(r"\d+\.\d+\.\d+", base) else minor(version)


def _of_torch(torch: str) -> tuple[TorchBuilds, ...]:
    version = numbers(minor(torch))
    return tuple(row for row in TORCH_BUILDS if numbers(row.first) <= version <= numbers(row.last))


def _suited(row: TorchBuilds, gpu: Gpu) -> int:
    """How many of the GPUs it has code for; 1 where nobody told what they are."""
    capabilities = [device.capability for device in gpu.devices if device.capability]
    return sum(covers(row.architectures, capability) for capability in capabilities) if capabilities else 1


def _preferred(fitting: list[str], driver: str) -> str:
    full = [cuda for cuda in fitting if numbers(FIRST_DRIVERS.get(cuda, "")) <= numbers(driver)]
    return max(full, key=numbers) if full else min(fitting, key=numbers)


def torchvision_for(torch: str) -> str:
    """Return the torchvision minor version for a torch ("0.24"), or "" if the data lacks it."""
    return TORCHVISION.get(minor(torch), "")


def suited_major(gpu: Gpu) -> int | None:
    """The CUDA major version whose wheels suit: that of torch where it is one the driver serves, else the highest."""
    served = [each for each in _MAJORS if serves(gpu, f"{each}.1")]
    of_torch = [major(build.cuda) for build in gpu.frameworks if build.name == "torch" and build.cuda]
    return next((each for each in of_torch if each in served), served[0] if served else None)


def dali_wheel(gpu: Gpu) -> str | None:
    """Return the NVIDIA DALI distribution for driver and torch, or None if none is known to fit."""
    return _wheel(gpu, DALI_WHEELS)


def nvimgcodec_wheel(gpu: Gpu) -> str | None:
    """Return the nvImageCodec distribution for driver and torch, or None if none is known to fit."""
    return _wheel(gpu, NVIMGCODEC_WHEELS)


def _wheel(gpu: Gpu, wheels: dict[int, str]) -> str | None:
    fitting = suited_major(gpu)
    return wheels.get(fitting) if fitting is not None else None
