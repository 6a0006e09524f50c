"""Which kernels are named as the cause of a failed build or proof."""

import pytest

from fastinstall.model.recipe import Kernel
from fastinstall.setup.proven_wheel import find_guilty_kernels


def _kernel(name: str, file: str, *operations: str) -> Kernel:
    return Kernel(name=name, file=f"src/{file}", functions=("f",), operations=operations, reason="measured")


KERNELS = (
    _kernel("resize", "Resample.c", "resize", "thumbnail"),
    _kernel("transform", "Geometry.c", "rotate", "transform"),
    _kernel("turn", "Geometry.c", "transpose"),
)


@pytest.mark.parametrize(
    ("files", "operations", "guilty"),
    [
        ((), ("thumbnail",), ("resize",)),
        ((), ("transpose", "resize"), ("resize", "turn")),
        ((), ("crop",), ()),
        (("src/Resample.c",), (), ("resize",)),
        (("src/Geometry.c",), (), ("transform", "turn")),
        (("src/Geometry.c", "src/turn.h"), (), ("turn",)),
        (("src/Resample.c", "src/resize.h", "src/resize-loops.h"), (), ("resize",)),
        (("src/_imaging.c",), (), ()),
    ],
)
def test_a_failure_points_at_kernels(
    files: tuple[str, ...], operations: tuple[str, ...], guilty: tuple[str, ...]
) -> None:
    assert find_guilty_kernels(KERNELS, files=files, operations=operations) == guilty
