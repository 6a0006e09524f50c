"""Which kernels a failed build or proof points at. Pure."""

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from fastinstall.model.recipe import Kernel


def find_guilty_kernels(
    kernels: Iterable[Kernel], *, files: Collection[str] = (), operations: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the names of the kernels that a failure points at, in the recipe's order.

    Args:
        kernels: the recipe's, in its order.
        files: of the source, that do not compile; where one is a kernel's own, no other of its file is to blame.
        operations: that compute something else than they should.
    """
    known = tuple(kernels)
    own = {kernel.name for kernel in known if str(PurePosixPath(kernel.file).with_name(f"{kernel.name}.h")) in files}
    refused = own or {kernel.name for kernel in known if kernel.file in files}
    wrong = {kernel.name for kernel in known if any(each.startswith(kernel.operations) for each in operations)}
    return tuple(kernel.name for kernel in known if kernel.name in refused | wrong)
