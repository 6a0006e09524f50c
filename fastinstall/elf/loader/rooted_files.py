"""Read the files of a target below its root directory, and find out whether the loader would take each file."""

import errno
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import DynamicFile, read_dynamic
from fastinstall.elf.image import Elf32Error, ElfError
from fastinstall.elf.loader.process_settings import ProcessSettings

_SEARCHED_ON = frozenset({errno.ENOENT, errno.EACCES, errno.ENOTDIR})

Identity = tuple[int, int]


class UnloadableFileError(Exception):
    """Raised if the loader would find a file that it cannot load, and would therefore end its search with an error."""


@immutable
class ReadFile:
    """A file that the loader would take.

    Attributes:
        place: the file's path on this machine.
        file: the content of the dynamic section and the notes.
        identity: device and inode, by which the loader recognises a file.
    """

    place: Path
    file: DynamicFile
    identity: Identity


class RootedFiles:
    """Files below the root directory of a target; each path is read once.

    Symbolic links are resolved by this machine's kernel, so absolute links lead out of the root directory.

    Attributes:
        machine: the architecture of the process; by default the architecture of the first file that is read. Files for
            other architectures are skipped.
    """

    def __init__(self, settings: ProcessSettings, machine: str = "") -> None:
        self._prefix = str(settings.root).rstrip("/")
        self._working_directory = settings.working_directory
        self._page_size = settings.page_size
        self.machine = machine
        self._read: dict[str, ReadFile | Exception | None] = {}
        self._directories: dict[str, bool] = {}

    def place(self, path: str) -> Path:
        """Translate a path in the target to a path on this machine, whether or not the file exists."""
        return Path(self._prefix + self.absolute(path))

    def absolute(self, path: str) -> str:
        """Return a path in the target as an absolute path; `..` and links in the path remain."""
        return path if path.startswith("/") else f"{self._working_directory.rstrip('/')}/{path}"

    def real(self, path: str) -> str:
        """Return a path in the target with symbolic links resolved."""
        return os.path.realpath(self.place(path)).removeprefix(os.path.realpath(self._prefix or "/").rstrip("/"))

    def tidy(self, path: str) -> PurePosixPath:
        """Return a path in the target as an absolute path; remove `..` if the shorter path leads to the same file."""
        absolute = self.absolute(path)
        shorter = os.path.normpath(absolute)
        with suppress(OSError):
            if "/." in absolute and self.place(absolute).samefile(self.place(shorter)):
                return PurePosixPath(shorter)
        return PurePosixPath(absolute)

    def has_directory(self, path: str) -> bool:
        """Return whether a directory exists in the target; "" is the working directory."""
        if path not in self._directories:
            self._directories[path] = os.path.isdir(self.place(path))  # noqa: PTH112 (it raises nothing)
        return self._directories[path]

    def read(self, path: str) -> ReadFile | None:
        """Return the file at a path, or None if the file is missing or for another machine.

        If the result is None, the loader continues its search.

        Raises:
            UnloadableFileError: the file is invalid, and the loader ends its search with an error.
            OSError: the file cannot be opened. The loader then skips the rest of its current list of directories.
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
        """Return the file at `place`, or None if it is for a 32-bit machine or another architecture.

        Source: `open_verify` in glibc's elf/dl-load.c.

        Raises:
            ElfError: the file is malformed, for a big-endian machine, or linked for smaller pages.
            OSError: the file cannot be opened.
        """
        try:
            file = read_dynamic(place)
        except Elf32Error:
            return None
        self.machine = self.machine or file.machine
        if file.machine != self.machine:
            return None
        if 0 < file.page_size < self._page_size:  # glibc's elf/dl-load.c then fails with "not page-aligned"
            raise ElfError(place, f"made for pages of {file.page_size} bytes, and those here have {self._page_size}")
        status = place.stat()
        return ReadFile(place=place, file=file, identity=(status.st_dev, status.st_ino))
