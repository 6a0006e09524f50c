"""Look at a process that runs already, through /proc; it is neither stopped nor changed."""

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath

from fastinstall.binary.identities import JPEG, identify
from fastinstall.binary.image import ElfError
from fastinstall.binary.libraries import describe
from fastinstall.errors import UndeterminedError
from fastinstall.model.core import Library
from fastinstall.model.linkage import Binding
from fastinstall.model.process import LiveProcess
from fastinstall.probes.mappings import Mapping, read_mappings
from fastinstall.probes.process_memory import read_bindings
from fastinstall.system import foreign

_DELETED = " (deleted)"
_LIST = "list the processes of Python with `pgrep -a python`"


def observe_process(pid: int, root: Path = Path("/")) -> LiveProcess:
    """What a process runs, has mapped, and was started with.

    Args:
        pid: its number.
        root: the directory below which `proc` lies.

    Returns:
        All of its paths as the process itself has them, which in a container is below `LiveProcess.root`.

    Raises:
        UndeterminedError: there is no such process, it belongs to somebody else, or it has nothing mapped (a thread of
            the kernel, one that has ended and was not waited for).
    """
    place = root / "proc" / str(pid)
    maps = os.fsdecode(_read(place / "maps", pid)).splitlines()
    if not maps:
        raise UndeterminedError(f"process {pid} has no memory: it has ended, or belongs to the kernel", hint=_LIST)
    command = tuple(os.fsdecode(word) for word in _read(place / "cmdline", pid).split(b"\0")[:-1])
    variables = _variables(_read(place / "environ", pid))
    loaded = _loaded(maps)
    base = _root_of(place, root, loaded)
    bindings, unread = _bindings(place, maps)
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
        libjpegs=tuple(_libjpegs(bindings, base)),
        unread=unread,
        root=PurePath("/") if base == root else base,
    )


def _bindings(place: Path, maps: list[str]) -> tuple[tuple[Binding, ...], str]:
    """How libjpeg's functions are bound, or why that cannot be told."""
    try:
        return read_bindings(place / "mem", tuple(read_mappings(maps)), "jpeg_"), ""
    except OSError as error:
        return (), error.strerror or str(error)
    except ValueError as error:
        return (), str(error)


def _libjpegs(bindings: tuple[Binding, ...], base: Path) -> Iterator[Library]:
    """What is called, and what was asked for; of one alone nothing has to be compared."""
    crossed = (path for each in bindings if each.is_crossed for path in (each.provider, each.wanted))
    for path in dict.fromkeys(path for path in crossed if path is not None):
        with suppress(OSError, ElfError):
            place = _below(base, Path(path))
            yield from (describe(each, path, place=place) for each in identify(place, kinds=(JPEG,)))


def executable_of(place: Path, command: tuple[str, ...], variables: dict[str, str], base: Path) -> Path:
    """What a process runs, by the name that it was called by if that can be told.

    A virtual environment's interpreter is a link, and only its name says to which environment it belongs.

    Args:
        place: of the process in /proc.
        command: its argv.
        variables: it was started with.
        base: the directory below which its files are found.

    Raises:
        UndeterminedError: it has ended, or is not for us to see.
    """
    try:
        running = Path(str((place / "exe").readlink()).removesuffix(_DELETED))
    except OSError as error:
        raise UndeterminedError(f"process {place.name} has ended meanwhile", hint=_LIST) from error
    names = _called(place, command[0], variables) if command else ()
    return next((name for name in names if _is_same(_below(base, name), place / "exe")), running)


def _read(path: Path, pid: int) -> bytes:
    try:
        return foreign.read_bytes(path)
    except (FileNotFoundError, ProcessLookupError) as error:
        raise UndeterminedError(f"there is no process {pid}", hint=_LIST) from error
    except OSError as error:
        raise UndeterminedError(
            f"process {pid} cannot be looked at: {error.strerror}",
            hint=f"run it as the user of that process, or as root: sudo fastinstall doctor --pid {pid}",
        ) from error


def _variables(environ: bytes) -> dict[str, str]:
    """The variables that it was started with; what it has set since cannot be seen."""
    pairs = (os.fsdecode(entry).partition("=") for entry in environ.split(b"\0"))
    return {name: value for name, found, value in pairs if found}


def _loaded(maps: list[str]) -> tuple[Mapping, ...]:
    """One stretch of each file that is the loader's, and not data; a module that is a stub has no code of its own."""
    files = (mapping for mapping in read_mappings(maps) if mapping.is_file)
    found = (mapping for mapping in files if mapping.is_executable or ".so" in PurePath(mapping.path).name)
    return tuple({(mapping.path, mapping.inode): mapping for mapping in found}.values())


def _root_of(place: Path, root: Path, loaded: tuple[Mapping, ...]) -> Path:
    """Where the process's files are found from here: `root`, unless it has other files under their names.

    A mount namespace of its own is not enough: services have one that differs in `/tmp` alone.
    """
    inside = place / "root"
    try:
        if not inside.samefile(root):
            return inside
        apart = (place / "ns/mnt").readlink() != (root / "proc/self/ns/mnt").readlink()
    except OSError:
        return root
    paths = [Path(mapping.path) for mapping in loaded] if apart else []
    return root if all(_looks_alike(_below(inside, path), _below(root, path)) for path in paths) else inside


def _looks_alike(inside: Path, here: Path) -> bool:
    """Whether a name leads to the same file for the process and for us, or for both of us to none."""
    try:
        return inside.samefile(here) if inside.exists() else not here.exists()
    except FileNotFoundError:
        return False
    except OSError:  # not for us to see
        return True


def _called(place: Path, name: str, variables: dict[str, str]) -> Iterator[Path]:
    """Where a shell would have found the program that is called by a name."""
    directories = [""] if "/" in name else variables.get("PATH", "").split(":")
    for directory in directories:
        path = Path(directory, name)
        with suppress(OSError):
            yield path if path.is_absolute() else (place / "cwd").readlink() / path


def _is_replaced(mapping: Mapping, base: Path) -> bool:
    """Whether another file, or none, stands under the name of the one that is mapped.

    File systems that are laid over others show one inode to `stat` and another one in maps; what tells then is how the
    kernel shows a mapping of ours.
    """
    if mapping.is_deleted:
        return True
    path = _below(base, Path(mapping.path))
    try:
        return path.stat().st_ino != mapping.inode and _inode_in_maps(path) not in {0, mapping.inode}
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # not for us to see; empty, so that nothing of it can be mapped
        return False


def _inode_in_maps(path: Path) -> int:
    """The inode that the kernel shows for a file that we map; 0 where it cannot be mapped."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 1, prot=mmap.PROT_READ):
        maps = foreign.read_text(Path("/proc/self/maps"), "utf-8", "surrogateescape")
        name = str(path.resolve())
        return next((mapping.inode for mapping in read_mappings(maps.splitlines()) if mapping.path == name), 0)


def _below(base: Path, path: Path) -> Path:
    return base / str(path).lstrip("/")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
