"""Which PIL a process runs, told by the files that it has mapped."""

from collections.abc import Collection
from pathlib import PurePath

_PACKAGE, _LIBRARIES = "PIL", "pillow.libs"
_CORES = ("_imaging.", "lib_imaging_core-")


def running_core(mapped: Collection[PurePath]) -> PurePath | None:
    """Return the file that holds a process's imaging core, or None if none is mapped.

    Where a core has copies for several CPU levels, the module in `PIL/` is an empty stub, and the copy counts.
    """
    found = [path for path in mapped if path.name.startswith(_CORES) and packages_of(path) is not None]
    return max(found, key=lambda path: path.name.startswith(_CORES[1]), default=None)


def packages_of(path: PurePath) -> PurePath | None:
    """Give the directory of packages that a file of PIL's or of its libraries lies in; None for any other file."""
    holders = (parent for parent in path.parents if parent.name in {_PACKAGE, _LIBRARIES})
    return next((holder.parent for holder in holders), None)
