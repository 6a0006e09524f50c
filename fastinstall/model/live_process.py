"""Processes that use PIL, as their mapped files show them."""

from collections.abc import Collection
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.elf.description import Binding, LoadedLibrary

_ROOT = PurePath("/")


@immutable
class LiveProcess:
    """A running process, as /proc shows it.

    Attributes:
        pid: its process ID, as /proc lists it.
        command: its argv, for people.
        executable: the program that it runs.
        mapped: its program and its mapped shared objects, ordered by their lowest addresses, each once. The kernel
            names them, without symbolic links.
        replaced: those whose file on disk has been replaced or removed.
        library_path: LD_LIBRARY_PATH of its environment; empty if unset.
        preload: LD_PRELOAD of its environment; empty if unset.
        tunables: GLIBC_TUNABLES of its environment; empty if unset.
        bindings: actual bindings of the libjpeg functions that PIL's files call, from its memory.
        libjpegs: the libraries of these bindings.
        unread: why its memory was not read; empty if it was.
        root: the directory that contains its files: "/", or "/proc/PID/root" for one with its own file system, as in a
            container. All paths here are as the process has them.
    """

    pid: int
    command: tuple[str, ...]
    executable: PurePath
    mapped: tuple[PurePath, ...]
    replaced: tuple[PurePath, ...] = ()
    library_path: str = ""
    preload: str = ""
    tunables: str = ""
    bindings: tuple[Binding, ...] = ()
    libjpegs: tuple[LoadedLibrary, ...] = ()
    unread: str = ""
    root: PurePath = _ROOT

    @property
    def taken(self) -> tuple[Binding, ...]:
        """The bindings to another library than the requested one, those of the core first."""
        crossed = (binding for binding in self.bindings if binding.is_crossed)
        return tuple(sorted(crossed, key=lambda binding: "_imaging" not in binding.user.name))


_PACKAGE, _LIBRARIES = "PIL", "pillow.libs"

_CORES = ("_imaging.", "lib_imaging_core-")


def running_core(mapped: Collection[PurePath]) -> PurePath | None:
    """Return the file that holds a process's C extension of Pillow, or None if none is mapped.

    If a core has copies for several CPU levels, the module in `PIL/` is an empty stub, and the copy counts.
    """
    found = [path for path in mapped if path.name.startswith(_CORES) and packages_of(path) is not None]
    return max(found, key=lambda path: path.name.startswith(_CORES[1]), default=None)


def packages_of(path: PurePath) -> PurePath | None:
    """Return the package directory of a file of PIL or its libraries; None for any other file."""
    holders = (parent for parent in path.parents if parent.name in {_PACKAGE, _LIBRARIES})
    return next((holder.parent for holder in holders), None)
