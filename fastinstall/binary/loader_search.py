"""Where the dynamic loader would look for a name, path by path; whether a file is there is not asked here.

Sources: ld.so(8), "Dynamic string tokens" and the order of directories; glibc's elf/dl-load.c.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fastinstall.binary.dynamic import DynamicFile
from fastinstall.binary.loader_cache import LoaderCache

_GENERAL_DIRECTORIES = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_]))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a search depends on besides the files.

    Attributes:
        machine: files of another one are passed over.
        library_path: the directories of LD_LIBRARY_PATH.
        hwcaps: subdirectories of glibc-hwcaps, best first.
        cache: the loader's cache.
    """

    machine: str
    library_path: tuple[str, ...]
    hwcaps: tuple[str, ...]
    cache: LoaderCache


@dataclass(slots=True, eq=False, kw_only=True)
class MappedFile:
    """A file in a process; told from another by identity alone.

    Attributes:
        path: as the loader names it.
        origin: what $ORIGIN stands for in it.
        file: its dynamic section.
        requester: who asked for it; None for what the program opened itself.
        identity: device and inode.
        names: what it was asked for by; grows.
    """

    path: str
    origin: str
    file: DynamicFile
    requester: "MappedFile | None"
    identity: tuple[int, int]
    names: set[str]

    def answers_to(self, name: str) -> bool:
        """Whether a request for `name` is met by this file without a search."""
        return name in self.names or name == self.file.soname

    def expand(self, text: str) -> str:
        """Replace $ORIGIN, $LIB and $PLATFORM, with or without braces."""
        if "$" not in text:
            return text
        machine = self.file.machine
        values = {"ORIGIN": self.origin, "LIB": _library_directory(machine), "PLATFORM": machine}
        return _TOKEN.sub(lambda match: values[match[1] or match[2]], text)

    def directories(self, search: str | None) -> tuple[str, ...]:
        """The absolute directories of a DT_RPATH or DT_RUNPATH of this file."""
        expanded = (self.expand(part) for part in (search or "").split(":"))
        return tuple(directory for directory in expanded if directory.startswith("/"))


def candidates(name: str, requester: MappedFile, main: MappedFile | None, settings: Settings) -> Iterator[str]:
    """The paths that the loader would try for `name`, in its order."""
    if "/" in name:
        if name.startswith("/"):
            yield name
        return
    for directories in _before_cache(requester, main, settings):
        yield from _in_directories(directories, name, settings)
    yield from _system(name, requester, settings)


def _before_cache(requester: MappedFile, main: MappedFile | None, settings: Settings) -> Iterator[tuple[str, ...]]:
    if requester.file.runpath is None:
        for asking in _chain(requester, main):
            if asking.file.runpath is None:
                yield asking.directories(asking.file.rpath)
    yield settings.library_path
    yield requester.directories(requester.file.runpath)


def _chain(requester: MappedFile, main: MappedFile | None) -> Iterator[MappedFile]:
    """The requester, who asked for it, and so on; then the program, if it was not among them."""
    asking: MappedFile | None = requester
    while asking is not None:
        yield asking
        if asking is main:
            return
        asking = asking.requester
    if main is not None:
        yield main


def _system(name: str, requester: MappedFile, settings: Settings) -> Iterator[str]:
    own = f"{settings.machine}-linux-gnu"
    defaults = (f"/lib/{own}", f"/usr/lib/{own}", *_GENERAL_DIRECTORIES)
    allowed = requester.file.default_directories
    cached = settings.cache.find(name, settings.machine, settings.hwcaps)
    if cached is not None and (allowed or cached.rpartition("/")[0] not in defaults):
        yield cached
    if allowed:
        yield from _in_directories(defaults, name, settings)


def _in_directories(directories: tuple[str, ...], name: str, settings: Settings) -> Iterator[str]:
    for directory in directories:
        place = directory.rstrip("/")
        for subdirectory in settings.hwcaps:
            yield f"{place}/glibc-hwcaps/{subdirectory}/{name}"
        yield f"{place}/{name}"


def _library_directory(machine: str) -> str:
    own = f"lib/{machine}-linux-gnu"
    return own if Path("/", own).is_dir() else "lib64"
