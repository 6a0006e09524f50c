"""Which CUDA builds of torch there are, for which GPUs, and which torchvision belongs to which torch: dated data.

Taken on 2026-11-22 from pytorch's RELEASE.md and the discussions of its changes (pytorch/pytorch#157517, #158301,
#172352, #175253, #182250, #190355), and from the table in torchvision's README. Not verified, for want of a copy: the
row for CUDA 11.7, that 13.2's list of architectures equals 13.0's, and torchvision after 0.28. The architectures are
those of wheels for x86-64 that pytorch.org publishes; builds of conda-forge and NVIDIA's own have others.
"""

from fastinstall.model.immutable import immutable

WHEEL_INDEX = "https://download.pytorch.org/whl"
SOURCE = "https://github.com/pytorch/pytorch/blob/main/RELEASE.md"


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
