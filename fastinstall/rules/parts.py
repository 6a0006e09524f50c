"""Which parts of a fork to leave out of a merge, given what does not compile or does not prove. Pure."""

from collections.abc import Collection

from fastinstall.model.kernels import Kernels, Part


def guilty_parts(kernels: Kernels, *, files: Collection[str] = (), operations: Collection[str] = ()) -> tuple[str, ...]:
    """Names of the parts that a failure points at, in the recipe's order.

    Args:
        kernels: the recipe's.
        files: of the source, that do not compile.
        operations: that compute something else than they should.
    """
    return tuple(part.name for part in kernels.parts if _is_guilty(part, files, operations))


def _is_guilty(part: Part, files: Collection[str], operations: Collection[str]) -> bool:
    items = tuple(item.partition(":")[0] for item in part.items)
    if any(file in (*part.files, *items) for file in files):
        return True
    return any(operation.startswith(begin) for operation in operations for begin in part.operations)
