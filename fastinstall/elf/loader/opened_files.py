"""The files of a simulated process, and how the loader takes to a file that it comes by in its search.

Where a path of the target lies on this machine: below a directory that stands for "/".
"""

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import DynamicFile, read_dynamic
from fastinstall.elf.image import ElfError, ForeignElfError


class Root:
    """A directory that stands for "/".

    Args:
        directory: what stands for "/"; links in it lead where they do here.
        working_directory: from which relative paths go, absolute in that filesystem.
    """

    __slots__ = ("_prefix", "working_directory")

    def __init__(self, directory: Path = Path("/"), working_directory: str = "/") -> None:
        self._prefix = str(directory).rstrip("/")
        self.working_directory = working_directory

    def place(self, path: str) -> str:
        """The path on this machine of a path of the target; whether anything is there is not asked."""
        return self._prefix + self.absolute(path)

    def absolute(self, path: str) -> str:
        """A path as it is, from "/" on."""
        return path if path.startswith("/") else f"{self.working_directory.rstrip('/')}/{path}"

    def real(self, path: str) -> str:
        """The path without links, as the target sees it."""
        return os.path.realpath(self.place(path)).removeprefix(os.path.realpath(self._prefix or "/").rstrip("/"))

    def tidy(self, path: str) -> PurePosixPath:
        """A path from "/" on and without `..`, where that names the same file."""
        absolute = self.absolute(path)
        if "/." not in absolute:
            return PurePosixPath(absolute)
        shorter = os.path.normpath(absolute)
        try:
            same = Path(self.place(absolute)).samefile(self.place(shorter))
        except OSError:
            same = False
        return PurePosixPath(shorter if same else absolute)


PROGRAM, INTERPRETER, PRELOADED, OPENED = "the program", "the program's loader", "LD_PRELOAD", "opened"
"""Reasons for which a file is mapped without a search path; see `LoadedFile`."""

_SEARCHED_ON = frozenset({errno.ENOENT, errno.EACCES, errno.ENOTDIR})
_CLASS, _IS_64_BIT = 4, 2

Identity = tuple[int, int]


class UnloadableFileError(Exception):
    """The search ends at a file that the loader would choke on."""


@immutable
class ReadFile:
    """A file that the loader would take.

    Attributes:
        place: where it lies on this machine.
        file: its dynamic section.
        identity: device and inode.
    """

    place: Path
    file: DynamicFile
    identity: Identity


@immutable
class ResolvedDependency:
    """One DT_NEEDED entry of a file, answered.

    Attributes:
        name: what is asked for.
        file: the file it gets, or None if the loader would fail.
        problem: why there is none; empty if there is one.
    """

    name: str
    file: "MappedFile | None"
    problem: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class MappedFile:
    """A file in a process; told from another by identity alone.

    Attributes:
        path: as the loader names it, in the target's filesystem.
        place: where that lies on this machine.
        file: its dynamic section.
        identity: device and inode.
        origin: what $ORIGIN stands for in it.
        name: what it was asked for by first; its path for what is opened by path.
        names: what it was asked for by; grows.
        reason: why this file: see `LoadedFile`.
        requester: whose search path is inherited; None for the program and for what is opened.
        needed_by: the file that asked for it first; None for the program, what is preloaded and what is opened.
        requests: its DT_NEEDED entries, answered; None as long as nobody asked.
    """

    path: str
    place: Path
    file: DynamicFile
    identity: Identity
    origin: str
    name: str
    names: set[str]
    reason: str
    requester: "MappedFile | None" = None
    needed_by: "MappedFile | None" = None
    requests: tuple[ResolvedDependency, ...] | None = None

    def answers_to(self, name: str) -> bool:
        """Whether it was asked for by the name, or calls itself so."""
        return name in self.names or name == self.file.soname

    @property
    def needs(self) -> "list[MappedFile]":
        """The files that its DT_NEEDED entries got, in order."""
        return [request.file for request in self.requests or () if request.file is not None]


@dataclass(slots=True, eq=False, kw_only=True)
class RootedFiles:
    """Reads files below a root, each path once.

    Attributes:
        root: what stands for "/".
        machine: that of the first file; files for another one are passed over.
    """

    root: Root
    machine: str = ""
    _read: dict[str, ReadFile | Exception | None] = field(default_factory=dict)
    _directories: dict[str, bool] = field(default_factory=dict)

    def has_directory(self, path: str) -> bool:
        """Whether a directory is there; "" is the working directory."""
        if path not in self._directories:
            try:
                self._directories[path] = Path(self.root.place(path)).is_dir()
            except OSError:
                self._directories[path] = False
        return self._directories[path]

    def read(self, path: str) -> ReadFile | None:
        """The file at a path; None if there is none, or one for another machine: the search goes on.

        Raises:
            UnloadableFileError: there is one that ends the search.
            OSError: the path cannot be followed: nothing more is tried in that list of directories.
        """
        if path not in self._read:
            try:
                self._read[path] = self._verify_file(Path(self.root.place(path)))
            except OSError as error:
                self._read[path] = None if error.errno in _SEARCHED_ON else error
            except ElfError as error:
                self._read[path] = UnloadableFileError(f"{path}: {error.problem}")
        result = self._read[path]
        if isinstance(result, Exception):
            raise result
        return result

    def _verify_file(self, place: Path) -> ReadFile | None:
        """Only another class (32-bit) or machine is passed over; another byte order is an error (`open_verify`)."""
        try:
            file = read_dynamic(place)
        except ForeignElfError:
            with foreign.open_foreign_file(place) as stream:
                if stream.read(_CLASS + 1)[_CLASS:] == bytes([_IS_64_BIT]):
                    raise
            return None
        self.machine = self.machine or file.machine
        if file.machine != self.machine:
            return None
        status = place.stat()
        return ReadFile(place=place, file=file, identity=(status.st_dev, status.st_ino))
