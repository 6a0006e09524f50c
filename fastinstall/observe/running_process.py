"""Inspect a running process and its bindings of PIL's functions through /proc, without stopping or changing it.

The loader has written the addresses of functions into the tables of each file. The file's code calls these addresses,
whatever was loaded first and by whom. An extension module's are all bound at import (RTLD_NOW). Files are not read,
because they may have been replaced since. Sources: elf(5), proc_pid_mem(5), the ELF gABI on dynamic sections and
relocations.
"""

import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.errors import UndeterminedError
from fastinstall.elf.description import Binding, LoadedLibrary
from fastinstall.elf.dynamic_symbols import SYMBOL
from fastinstall.elf.image import ElfError
from fastinstall.elf.libjpeg_marks import JPEG
from fastinstall.elf.libraries import describe, identify
from fastinstall.model.live_process import LiveProcess, packages_of
from fastinstall.observe.runtime import Mapping, read_mappings

_DELETED = " (deleted)"
_LIST = "list Python processes with `pgrep -a python`"
_MOUNT = "examine the environment itself: fastinstall doctor --prefix DIR; or mount it: mount -t proc proc /proc"


def observe_process(pid: int, root: Path = Path("/")) -> LiveProcess:
    """Return what a process runs, has mapped, and was started with.

    Args:
        pid: its number.
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
            yield from (describe(each, path, place=place) for each in identify(place, kinds=(JPEG,)))


def executable_of(place: Path, command: tuple[str, ...], variables: dict[str, str], base: Path) -> Path:
    """Return a process's program, by the name that started it if possible.

    A virtual environment's interpreter is a link, and only its name identifies the environment.

    Args:
        place: of the process in /proc.
        command: its argv.
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


_LOAD, _DYNAMIC = 1, 2
_NEEDED, _PLT_SIZE, _STRINGS, _SYMBOLS, _RELA, _RELA_SIZE, _STRINGS_SIZE, _PLT = 1, 2, 5, 6, 7, 8, 10, 23
_SEGMENT, _TAG, _RELOCATION = (struct.Struct(form) for form in ("<IIQQQQQQ", "<QQ", "<QQq"))
_LARGEST, _MOST = 1 << 25, 1000
"""Largest size of a table in bytes, and number of functions: the data of a process is not trusted."""
_PAGE, _END = mmap.PAGESIZE, 1 << 63


class _MappedFile:
    """An ELF file in memory, by the tags of its dynamic section.

    Raises:
        OSError: the memory cannot be read, or is gone.
        ValueError: it is not a 64-bit ELF file.
    """

    def __init__(self, descriptor: int, mapping: Mapping) -> None:
        self.path = PurePath(mapping.path)
        self._descriptor = descriptor
        header = self.read(mapping.start, 64)
        if header[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{self.path} is not a 64-bit ELF file")
        table, one, count = struct.unpack_from("<Q14xHH", header, 32)
        if one != _SEGMENT.size:
            raise ValueError(f"{self.path} has program headers of {one} bytes")
        segments = list(_SEGMENT.iter_unpack(self.read(mapping.start + table, one * count)))
        first = next((segment[3] for segment in segments if segment[0] == _LOAD), 0)
        self.base = mapping.start - first // _PAGE * _PAGE
        self.tags: list[tuple[int, int]] = []
        for segment in [segment for segment in segments if segment[0] == _DYNAMIC][:1]:
            content = self.read(self.base + segment[3], segment[6] // _TAG.size * _TAG.size)
            self.tags = list(_TAG.iter_unpack(content))

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of the process's memory."""
        if size > _LARGEST or address + size >= _END:
            raise ValueError(f"a table of {size} bytes at {address:#x}")
        content = os.pread(self._descriptor, size, address)
        if len(content) != size:
            raise ValueError(f"nothing is mapped at {address:#x}")
        return content

    def tag(self, kind: int) -> int:
        """Return the value of the first tag of a kind; 0 if there is none."""
        return next((value for found, value in self.tags if found == kind), 0)

    def read_table(self, kind: int, size: int) -> bytes:
        """Return a table; glibc's loader has replaced the file's offsets by addresses."""
        address = self.tag(kind)
        return self.read(address if address >= self.base else self.base + address, size)


def read_bindings(memory: Path, mappings: Sequence[Mapping], start: str) -> tuple[Binding, ...]:
    """Return how PIL's files and its libtiff bind functions whose names start alike ("jpeg_").

    Args:
        memory: `/proc/PID/mem`.
        mappings: of the process.
        start: of the names.

    Raises:
        OSError: the memory cannot be read, or is gone.
        ValueError: it is not a 64-bit ELF file.
    """
    found: dict[str, Mapping] = {}
    for each in mappings:
        ours = packages_of(PurePath(each.path)) is not None or PurePath(each.path).name.startswith("libtiff")
        if ours and each.is_file and not each.offset:
            found.setdefault(each.path, each)
    descriptor = os.open(memory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        files = [_MappedFile(descriptor, mapping) for mapping in found.values()]
        return tuple(binding for file in files for binding in _read_bindings(file, mappings, start))
    finally:
        os.close(descriptor)


def _read_bindings(file: _MappedFile, mappings: Sequence[Mapping], start: str) -> Iterator[Binding]:
    strings = file.read_table(_STRINGS, file.tag(_STRINGS_SIZE)) if file.tag(_STRINGS) else b""
    needed = tuple(_decode_string(strings, value) for kind, value in file.tags if kind == _NEEDED)
    for name, slot in islice(_list_slots(file, strings, start), _MOST):
        address = int.from_bytes(file.read(slot, 8), "little")
        holder = next((each.path for each in mappings if each.start <= address < each.end and each.is_file), "")
        if holder and PurePath(holder) != file.path:  # otherwise it stays unbound until its first call
            provider = PurePath(holder)
            wanted = _choose_libjpeg(needed, mappings, provider)
            yield Binding(symbol=name, version="", user=file.path, provider=provider, wanted=wanted)


def _list_slots(file: _MappedFile, strings: bytes, start: str) -> Iterator[tuple[str, int]]:
    """Yield the functions that the file does not define itself, and the addresses of their slots."""
    named: dict[int, int] = {}
    for table, size in ((_RELA, file.tag(_RELA_SIZE)), (_PLT, file.tag(_PLT_SIZE))):
        content = file.read_table(table, size // _RELOCATION.size * _RELOCATION.size) if size else b""
        named |= {info >> 32: offset for offset, info, _ in _RELOCATION.iter_unpack(content) if info >> 32}
    symbols = file.read_table(_SYMBOLS, (max(named) + 1) * SYMBOL.size) if named else b""
    for index, offset in named.items():
        name, _, _, section, _, _ = SYMBOL.unpack_from(symbols, index * SYMBOL.size)
        text = _decode_string(strings, name)
        if not section and text.startswith(start):
            yield text, file.base + offset


def _choose_libjpeg(needed: Sequence[str], mappings: Sequence[Mapping], provider: PurePath) -> PurePath | None:
    """Return the mapped libjpeg that the file requests; maps name the targets of links."""
    names = [PurePath(name).name for name in needed if "jpeg" in name]
    paths = dict.fromkeys(PurePath(each.path) for each in mappings if each.is_file)
    found = [path for path in paths for name in names if path.name == name or path.name.startswith(f"{name}.")]
    return provider if provider in found else next(iter(found), None)


def _decode_string(strings: bytes, offset: int) -> str:
    return strings[offset : strings.find(b"\0", offset)].decode("utf-8", "replace")
