"""Whether a driver serves a CUDA version, a build a GPU, and which build of torch would suit both. Pure; dated data.

Drivers and GPUs of each CUDA version: verified on 2026-11-22 against copies of NVIDIA's release notes for CUDA 13.2
Update 2 (table 3, every row below) and of "Minor Version Compatibility" (the branches 450, 525 and 580). Not verified,
for want of a copy: that the branches begin at exactly 525.60.13 and 580.65.06, which are the first drivers of CUDA 12.0
and 13.0 in table 3.

CUDA builds of torch, their GPUs, and their torchvision: taken on 2026-11-22 from pytorch's RELEASE.md and the
discussions of its changes (pytorch/pytorch#157517, #158301, #172352, #175253, #182250, #190355), and from the table in
torchvision's README. Not verified, for want of a copy: the row for CUDA 11.7, that 13.2's list of architectures equals
13.0's, and torchvision after 0.28. The architectures are those of wheels for x86-64 that pytorch.org publishes; builds
of conda-forge and NVIDIA's own have others.
"""

import re
from datetime import date

from fastinstall.core.values import immutable
from fastinstall.model.machine import FrameworkBuild, Gpu

TAKEN = date(2026, 11, 22)
"""When the data of this module was taken."""

COMPATIBILITY = "https://docs.nvidia.com/deploy/cuda-compatibility/"
WHEELS = "https://docs.nvidia.com/deeplearning/dali/user-guide/docs/installation.html"

MINIMUM_DRIVERS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""The least Linux driver for any minor version of a CUDA major version ("minor version compatibility").

Source: CUDA Toolkit release notes, table 2, and CUDA Compatibility, "Minor Version Compatibility".
"""

FIRST_DRIVERS = {
    "13.2": "595.45.04",
    "13.1": "590.44.01",
    "13.0": "580.65.06",
    "12.9": "575.51.03",
    "12.8": "570.26",
    "12.6": "560.28.03",
    "12.5": "555.42.02",
    "12.4": "550.54.14",
    "12.3": "545.23.06",
    "12.2": "535.54.03",
    "12.1": "530.30.02",
    "12.0": "525.60.13",
    "11.8": "520.61.05",
    "11.7": "515.43.04",
    "11.6": "510.39.01",
    "11.5": "495.29.05",
    "11.4": "470.42.01",
    "11.3": "465.19.01",
    "11.2": "460.27.03",
    "11.1": "455.23",
    "11.0": "450.36.06",
    "10.2": "440.33",
    "10.1": "418.39",
    "10.0": "410.48",
    "9.2": "396.26",
    "9.1": "390.46",
    "9.0": "384.81",
    "8.0": "367.48",
}
"""The Linux driver that came with the first release of each CUDA version, with which all of its features work.

Before CUDA 11, it is the least driver as well. Source: CUDA Toolkit release notes, table 3.
"""

LEAST_CAPABILITIES = {11: "3.5", 12: "5.0", 13: "7.5"}
"""The least compute capability that a CUDA major version compiles for and has libraries for.

13 has dropped Maxwell, Pascal and Volta (5.0 to 7.2). Source: CUDA Toolkit release notes, "Deprecated or Dropped
Features", and for 11 and 12 cuFFT's "Deprecated Functionality".
"""

DALI_WHEELS = {11: "nvidia-dali-cuda110", 12: "nvidia-dali-cuda120", 13: "nvidia-dali-cuda130"}
"""DALI by CUDA major version; that for 11 is of earlier releases. Source: DALI's User Guide, "Installation"."""

NVIMGCODEC_WHEELS = {11: "nvidia-nvimgcodec-cu11", 12: "nvidia-nvimgcodec-cu12", 13: "nvidia-nvimgcodec-cu13"}
"""nvImageCodec likewise; that for 11 ends with 0.6. Source: nvImageCodec, "Installation", and the package index."""


WHEEL_INDEX = "https://download.pytorch.org/whl"
"""Source: RELEASE.md of pytorch/pytorch."""


@immutable
class TorchBuilds:
    """Builds of torch for one CUDA version.

    Attributes:
        cuda: "12.6".
        first: the first version of torch that has it, "2.6".
        last: the last one that is known to have it.
        architectures: compute capabilities that it has code for; "12.0+PTX" also for later ones.
    """

    cuda: str
    first: str
    last: str
    architectures: tuple[str, ...]


_UP_TO_HOPPER = ("5.0", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0")
_FROM_TURING = ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0")
_FROM_TURING_ON = ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0+PTX")

TORCH_BUILDS = (
    TorchBuilds(cuda="11.7", first="1.13", last="2.0", architectures=("3.7", *_UP_TO_HOPPER[:-1])),
    TorchBuilds(cuda="11.8", first="2.0", last="2.7", architectures=("3.7", *_UP_TO_HOPPER)),
    TorchBuilds(cuda="12.1", first="2.1", last="2.5", architectures=_UP_TO_HOPPER),
    TorchBuilds(cuda="12.4", first="2.4", last="2.6", architectures=_UP_TO_HOPPER),
    TorchBuilds(cuda="12.6", first="2.6", last="2.14", architectures=_UP_TO_HOPPER),
    TorchBuilds(cuda="12.8", first="2.7", last="2.7", architectures=_FROM_TURING_ON),
    TorchBuilds(cuda="12.8", first="2.8", last="2.10", architectures=("7.0", *_FROM_TURING)),
    TorchBuilds(cuda="12.8", first="2.11", last="2.11", architectures=_FROM_TURING),
    TorchBuilds(cuda="12.9", first="2.8", last="2.8", architectures=("7.0", *_FROM_TURING_ON)),
    TorchBuilds(cuda="13.0", first="2.9", last="2.14", architectures=_FROM_TURING_ON),
    TorchBuilds(cuda="13.2", first="2.12", last="2.14", architectures=_FROM_TURING_ON),
)

TORCHVISION = {
    **{f"2.{minor}": f"0.{minor + 15}" for minor in range(15)},
    **{f"1.{minor}": f"0.{minor + 1}" for minor in range(4, 14)},
}
"""The minor version of torchvision that is made with a minor version of torch."""


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


def find_required_driver(cuda: str) -> str:
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
    if gpu.driver_cuda and _is_offering(gpu.driver_cuda, cuda):
        return True
    required, driver = numbers(find_required_driver(cuda)), max(numbers(gpu.driver), numbers(gpu.compat))
    if not driver or not required:
        return None
    return driver[0] >= required[0] if gpu.wsl else driver >= required


def _is_offering(offered: str, cuda: str) -> bool:
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
    return next(
        (row.architectures for row in _list_torch_builds(build.version) if published and row.cuda == build.cuda), ()
    )


def choose_torch_build(gpu: Gpu, torch: str) -> TorchChoice | None:
    """The published build that suits driver and most GPUs: of this version of torch, else of the latest that has one.

    Of several it is the latest whose own driver is not later than the one in place, else the earliest. None if there
    is none, or if this torch is later than the data.
    """
    known = sorted({version for row in TORCH_BUILDS for version in (row.first, row.last)}, key=numbers, reverse=True)
    if numbers(minor(torch)) > numbers(known[0]):
        return None
    for version in (release(torch), *(each for each in known if numbers(each) < numbers(minor(torch)))):
        served = [row for row in _list_torch_builds(version) if serves(gpu, row.cuda)]
        most = max((_count_covered_gpus(row, gpu) for row in served), default=0)
        fitting = [row.cuda for row in served if _count_covered_gpus(row, gpu) == most]
        if most:
            return TorchChoice(torch=version, cuda=_choose_preferred(fitting, gpu.driver))
    return None


def release(version: str) -> str:
    """A released version without its local label, "2.9.1"; the minor version where it is no release."""
    base = version.partition("+")[0]
    return base if re.fullmatch(r"\d+\.\d+\.\d+", base) else minor(version)


def _list_torch_builds(torch: str) -> tuple[TorchBuilds, ...]:
    version = numbers(minor(torch))
    return tuple(row for row in TORCH_BUILDS if numbers(row.first) <= version <= numbers(row.last))


def _count_covered_gpus(row: TorchBuilds, gpu: Gpu) -> int:
    """How many of the GPUs it has code for; 1 where nobody told what they are."""
    capabilities = [device.capability for device in gpu.devices if device.capability]
    return sum(covers(row.architectures, capability) for capability in capabilities) if capabilities else 1


def _choose_preferred(fitting: list[str], driver: str) -> str:
    full = [cuda for cuda in fitting if numbers(FIRST_DRIVERS.get(cuda, "")) <= numbers(driver)]
    return max(full, key=numbers) if full else min(fitting, key=numbers)


def torchvision_for(torch: str) -> str:
    """Return the torchvision minor version for a torch ("0.24"), or "" if the data lacks it."""
    return TORCHVISION.get(minor(torch), "")


def choose_cuda_major(gpu: Gpu) -> int | None:
    """The CUDA major version whose wheels suit: that of torch where it is one the driver serves, else the highest."""
    served = [each for each in _MAJORS if serves(gpu, f"{each}.1")]
    of_torch = [major(build.cuda) for build in gpu.frameworks if build.name == "torch" and build.cuda]
    return next((each for each in of_torch if each in served), served[0] if served else None)


def dali_wheel(gpu: Gpu) -> str | None:
    """Return the NVIDIA DALI distribution for driver and torch, or None if none is known to fit."""
    return _choose_wheel(gpu, DALI_WHEELS)


def nvimgcodec_wheel(gpu: Gpu) -> str | None:
    """Return the nvImageCodec distribution for driver and torch, or None if none is known to fit."""
    return _choose_wheel(gpu, NVIMGCODEC_WHEELS)


def _choose_wheel(gpu: Gpu, wheels: dict[int, str]) -> str | None:
    fitting = choose_cuda_major(gpu)
    return wheels.get(fitting) if fitting is not None else None
