"""A running process through /proc: what it runs, has mapped, and was started with. It is not stopped or changed."""

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.errors import UndeterminedError
from fastinstall.elf.description import Binding, LoadedLibrary
from fastinstall.elf.image import ElfError
from fastinstall.elf.libjpeg_marks import JPEG
from fastinstall.elf.libraries import describe_library, identify
from fastinstall.model.facts import LiveProcess
from fastinstall.observe.process_memory import Mapping, read_bindings, read_mappings

_DELETED = " (deleted)"
_LIST = "list Python processes with `pgrep -a python`"
_MOUNT = "examine the environment itself: fastinstall doctor --prefix DIR; or mount it: mount -t proc proc /proc"


def observe_process(pid: int, root: Path = Path("/")) -> LiveProcess:
    """Return what a process runs, has mapped, and was started with.

    Args:
        root: the directory that contains `proc`.

    Returns:
        The process with its own paths, which in a container are below `LiveProcess.root`.

    Raises:
        UndeterminedError: there is no such process, it belongs to another user, or it has nothing mapped (a kernel
            thread or a zombie).
    """
    place = root / "proc" / str(pid)
    maps = os.fsdecode(_read(place / "maps", pid)).splitlines()
    if not maps:
        raise UndeterminedError(f"process {pid} has no memory: it has ended, or belongs to the kernel", hint=_LIST)
    command = tuple(os.fsdecode(word) for word in _read(place / "cmdline", pid).split(b"\0")[:-1])
    pairs = (os.fsdecode(entry).partition("=") for entry in _read(place / "environ", pid).split(b"\0"))
    variables = {name: value for name, found, value in pairs if found}  # later changes are not visible
    loaded = _list_loaded_files(maps)
    base = _find_process_root(place, root, loaded)
    bindings: tuple[Binding, ...] = ()
    unread = ""
    try:
        bindings = read_bindings(place / "mem", tuple(read_mappings(maps)), "jpeg_")
    except (OSError, ValueError) as error:
        unread = getattr(error, "strerror", None) or str(error)
    return LiveProcess(
        pid=pid,
        command=command,
        executable=executable_of(place, command, variables, base),
        mapped=tuple(dict.fromkeys(PurePath(mapping.path) for mapping in loaded)),
        replaced=tuple(dict.fromkeys(PurePath(each.path) for each in loaded if _is_replaced(each, base))),
        library_path=variables.get("LD_LIBRARY_PATH", ""),
        preload=variables.get("LD_PRELOAD", ""),
        tunables=variables.get("GLIBC_TUNABLES", ""),
        bindings=bindings,
        libjpegs=tuple(_list_libjpegs(bindings, base)),
        unread=unread,
        root=PurePath("/") if base == root else base,
    )


def _list_libjpegs(bindings: tuple[Binding, ...], base: Path) -> Iterator[LoadedLibrary]:
    """Yield the libjpegs that are called and those that were requested; a single one needs no comparison."""
    crossed = (path for each in bindings if each.is_crossed for path in (each.provider, each.wanted))
    for path in dict.fromkeys(path for path in crossed if path is not None):
        with suppress(OSError, ElfError):
            place = _join_below(base, Path(path))
            yield from (describe_library(each, path, place=place) for each in identify(place, kinds=(JPEG,)))


def executable_of(place: Path, command: tuple[str, ...], variables: dict[str, str], base: Path) -> Path:
    """Return a process's program, by the name that started it if possible.

    A virtual environment's interpreter is a link, and only its name identifies the environment.

    Args:
        place: of the process in /proc.
        command: its argv; empty if the kernel shows none.
        variables: it was started with.
        base: the directory that contains its files.

    Raises:
        UndeterminedError: it has ended, or is not readable for us.
    """
    try:
        running = Path(str((place / "exe").readlink()).removesuffix(_DELETED))
    except OSError as error:
        raise UndeterminedError(f"process {place.name} has ended", hint=_LIST) from error
    name = command[0] if command else ""
    directories = [""] if "/" in name else variables.get("PATH", "").split(":")
    for directory in directories if command else ():  # where a shell would have found the program
        with suppress(OSError):
            path = Path(directory, name)
            path = path if path.is_absolute() else (place / "cwd").readlink() / path
            if _join_below(base, path).samefile(place / "exe"):
                return path
    return running


def _read(path: Path, pid: int) -> bytes:
    try:
        return foreign.read_bytes(path)
    except (FileNotFoundError, ProcessLookupError) as error:
        processes = path.parents[1]
        if not any(processes.glob("[0-9]*")):
            raise UndeterminedError(f"{processes} is not mounted: no process can be inspected", hint=_MOUNT) from error
        raise UndeterminedError(f"there is no process {pid}", hint=_LIST) from error
    except OSError as error:
        raise UndeterminedError(
            f"cannot inspect process {pid}: {error.strerror}",
            hint=f"run it as the user of that process, or as root: sudo fastinstall doctor --pid {pid}",
        ) from error


def _list_loaded_files(maps: list[str]) -> tuple[Mapping, ...]:
    """List one mapping of each file that the loader maps, except data; a stub module has no code of its own."""
    files = (mapping for mapping in read_mappings(maps) if mapping.is_file)
    found = (mapping for mapping in files if mapping.is_executable or ".so" in PurePath(mapping.path).name)
    return tuple({(mapping.path, mapping.inode): mapping for mapping in found}.values())


def _find_process_root(place: Path, root: Path, loaded: tuple[Mapping, ...]) -> Path:
    """Return the directory with the process's files: `root`, unless its paths lead to other files.

    A separate mount namespace is not enough: services have one that differs only in `/tmp`.
    """
    inside = place / "root"
    try:
        if not inside.samefile(root):
            return inside
        apart = (place / "ns/mnt").readlink() != (root / "proc/self/ns/mnt").readlink()
    except OSError:
        return root
    paths = [Path(mapping.path) for mapping in loaded] if apart else []
    return root if all(_is_same_file(_join_below(inside, path), _join_below(root, path)) for path in paths) else inside


def _is_same_file(inside: Path, here: Path) -> bool:
    """Return whether a name leads to the same file for the process and for us, or to none for both."""
    try:
        return inside.samefile(here) if inside.exists() else not here.exists()
    except OSError as error:
        return not isinstance(error, FileNotFoundError)  # not readable for us


def _is_replaced(mapping: Mapping, base: Path) -> bool:
    """Return whether the path of a mapped file now leads to another file or to none.

    On overlay file systems, `stat` and maps show different inodes; comparing with how the kernel shows our own mapping
    decides.
    """
    if mapping.is_deleted:
        return True
    path = _join_below(base, Path(mapping.path))
    try:
        return path.stat().st_ino != mapping.inode and _read_mapped_inode(path) not in {0, mapping.inode}
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # not readable for us; or empty, so that it cannot be mapped
        return False


def _read_mapped_inode(path: Path) -> int:
    """Return the inode that the kernel shows for a file that we map; 0 if it cannot be mapped."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 1, prot=mmap.PROT_READ):
        maps = foreign.read_text(Path("/proc/self/maps"), "utf-8", "surrogateescape")
        name = str(path.resolve())
        return next((mapping.inode for mapping in read_mappings(maps.splitlines()) if mapping.path == name), 0)


def _join_below(base: Path, path: Path) -> Path:
    return base / str(path).lstrip("/")
