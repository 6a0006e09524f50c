"""Files below a directory that stands for "/": where they lie on this machine, and how the loader takes to each."""

import errno
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import DynamicFile, read_dynamic
from fastinstall.elf.image import ElfError, ForeignElfError
from fastinstall.elf.loader.process_settings import ProcessSettings

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
        file: what it tells the dynamic loader.
        identity: device and inode, by which the loader knows a file again.
    """

    place: Path
    file: DynamicFile
    identity: Identity


class RootedFiles:
    """Files below a directory that stands for "/"; each path is read once. Links lead where they do here.

    Attributes:
        machine: that of the first file, if none is given; files for another one are passed over.
    """

    def __init__(self, settings: ProcessSettings, machine: str = "") -> None:
        self._prefix = str(settings.root).rstrip("/")
        self._working_directory = settings.working_directory
        self._page_size = settings.page_size
        self.machine = machine
        self._read: dict[str, ReadFile | Exception | None] = {}
        self._directories: dict[str, bool] = {}

    def place(self, path: str) -> Path:
        """Return the path on this machine of a path of the target; whether anything is there is not asked."""
        return Path(self._prefix + self.absolute(path))

    def absolute(self, path: str) -> str:
        """Return a path as it is, from "/" on."""
        return path if path.startswith("/") else f"{self._working_directory.rstrip('/')}/{path}"

    def real(self, path: str) -> str:
        """Return the path without links, as the target sees it."""
        return os.path.realpath(self.place(path)).removeprefix(os.path.realpath(self._prefix or "/").rstrip("/"))

    def tidy(self, path: str) -> PurePosixPath:
        """Return a path from "/" on and without `..`, where that names the same file."""
        absolute = self.absolute(path)
        shorter = os.path.normpath(absolute)
        with suppress(OSError):
            if "/." in absolute and self.place(absolute).samefile(self.place(shorter)):
                return PurePosixPath(shorter)
        return PurePosixPath(absolute)

    def has_directory(self, path: str) -> bool:
        """Return whether a directory is there; "" is the working directory."""
        if path not in self._directories:
            self._directories[path] = os.path.isdir(self.place(path))  # noqa: PTH112 (it raises nothing)
        return self._directories[path]

    def read(self, path: str) -> ReadFile | None:
        """Return the file at a path; None if there is none, or one for another machine: the search goes on.

        Raises:
            UnloadableFileError: there is one that ends the search.
            OSError: the path cannot be followed. The loader then gives up the list of directories that it searches.
        """
        if path not in self._read:
            try:
                self._read[path] = self._verify_file(self.place(path))
            except OSError as error:
                self._read[path] = None if error.errno in _SEARCHED_ON else error
            except ElfError as error:
                self._read[path] = UnloadableFileError(f"{path}: {error.problem}")
        result = self._read[path]
        if isinstance(result, Exception):
            raise result
        return result

    def _verify_file(self, place: Path) -> ReadFile | None:
        """Pass over only another class (32-bit) or machine; another byte order is an error (`open_verify`)."""
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
        if 0 < file.page_size < self._page_size:  # glibc's elf/dl-load.c, "not page-aligned"
            raise ElfError(place, f"made for pages of {file.page_size} bytes, and those here have {self._page_size}")
        status = place.stat()
        return ReadFile(place=place, file=file, identity=(status.st_dev, status.st_ino))
