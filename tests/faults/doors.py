"""Intercepts every call by which a Python process changes a disk or starts a program.

Inside `watched(hook)`, each such call is a boundary; the hook is called before and after every boundary. The hook may
record the call, end the process, send a signal, or raise an error of the kernel. The calls themselves are real. `open`
opens files for writing with `_pyio`, so that buffered writes pass through `os.write`, too; pipes and terminals are
excepted. Writes through `mmap`, and calls of started programs, are not seen.
"""

import _pyio  # type: ignore[import-not-found]  # typeshed has no stub of it
import builtins
import io
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from fastinstall.core import files


class Side(StrEnum):
    """Whether the hook is called before or after the call."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A call that changes the disk, forces data to it, or starts a program.

    Attributes:
        number: number of the call; the first watched call has number 0.
        call: the system call ("rename", "exchange", "write", "fsync", "start" ...).
        paths: the absolute paths that the call names; for "start", the program's argv.
        size: number of bytes to write; 0 for other calls.
        site: the functions of fastinstall on the call stack, innermost last ("journal.creation_note.finish").
    """

    number: int
    call: str
    paths: tuple[str, ...]
    size: int = 0
    site: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return number, call, last path and innermost function as text."""
        path, function = (self.paths or ("",))[-1], (self.site or ("?",))[-1]
        return f"{self.number} {self.call} {path} in {function}"


Hook = Callable[[Boundary, Side, tuple[Any, ...]], None]
"""Called with a boundary, its side, and the arguments of the call.

An exception that it raises on the side `BEFORE` replaces the call, which does not happen.
"""

FORCES = frozenset({"fsync", "fdatasync"})
"""Calls that change nothing that another process could see."""

_ONE_PATH = (
    *("mkdir", "rmdir", "unlink", "remove", "truncate", "chmod", "chown", "lchown", "utime"),
    *("setxattr", "mkfifo"),
)
_TWO_PATHS = ("rename", "replace", "link", "symlink")
_DESCRIPTOR = ("write", "pwrite", "writev", "ftruncate", "fchmod", "fchown", "fsync", "fdatasync", "posix_fallocate")
_SECOND_DESCRIPTOR = ("copy_file_range", "sendfile", "splice")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@contextmanager
def watched(hook: Hook, *, within: Sequence[Path] = ()) -> Iterator[None]:
    """Call a hook at every boundary while the block runs.

    Args:
        hook: the hook.
        within: directories to which the boundaries are limited; empty for no limit. Starts of programs always count.
    """
    door = _Door(hook, tuple(os.path.realpath(path) for path in within))
    with pytest.MonkeyPatch.context() as patch:
        door.install(patch)
        yield


class _Door:
    def __init__(self, hook: Hook, within: tuple[str, ...]) -> None:
        self._hook = hook
        self._within = within
        self._number = 0
        self._busy = False
        self._one_by_one = threading.RLock()

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in _ONE_PATH:
            self._patch(patch, name, lambda arguments, keywords: (_absolute(arguments[0], keywords.get("dir_fd")),))
        for name in _TWO_PATHS:
            self._patch(patch, name, _two_paths)
        for name in _DESCRIPTOR:
            self._patch(patch, name, lambda arguments, _keywords: (_path_of(arguments[0]),))
        for name in _SECOND_DESCRIPTOR:
            place = 0 if name == "sendfile" else 1
            self._patch(patch, name, lambda arguments, _keywords, place=place: (_path_of(arguments[place]),))
        self._patch_opening(patch)
        self._patch_exchange(patch)
        self._patch_starting(patch)

    def _patch(self, patch: pytest.MonkeyPatch, name: str, paths: Callable[..., tuple[str, ...]]) -> None:
        real = getattr(os, name, None)
        if real is None:
            return

        def call(*arguments: Any, **keywords: Any) -> Any:
            return self._pass(name, paths(arguments, keywords), real, arguments, keywords)

        patch.setattr(os, name, call)

    def _patch_opening(self, patch: pytest.MonkeyPatch) -> None:
        real_open, real_stream = os.open, io.open

        def opened(path: Any, flags: int, *arguments: Any, **keywords: Any) -> int:
            if not flags & _WRITING:
                return real_open(path, flags, *arguments, **keywords)
            paths = (_absolute(path, keywords.get("dir_fd")),)
            return int(self._pass("open", paths, real_open, (path, flags, *arguments), keywords))

        def stream(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
            if not set(mode) & set("wax+") or (isinstance(file, int) and not _is_file(file)):
                return real_stream(file, mode, *arguments, **keywords)
            return _pyio.open(file, mode, *arguments, **keywords)

        patch.setattr(os, "open", opened)
        patch.setattr(io, "open", stream)
        patch.setattr(builtins, "open", stream)

    def _patch_exchange(self, patch: pytest.MonkeyPatch) -> None:
        real = files._call_renameat2

        def call(source: Path, target: Path, flags: int) -> None:
            name = "exchange" if flags == files._RENAME_EXCHANGE else "rename"
            self._pass(name, (_absolute(source), _absolute(target)), real, (source, target, flags), {})

        patch.setattr(files, "_call_renameat2", call)

    def _patch_starting(self, patch: pytest.MonkeyPatch) -> None:
        real = subprocess.Popen.__init__

        def call(child: Any, args: Any, *arguments: Any, **keywords: Any) -> None:
            words = (args,) if isinstance(args, str | bytes | os.PathLike) else tuple(args)
            self._pass("start", tuple(map(os.fsdecode, words)), real, (child, args, *arguments), keywords)

        patch.setattr(subprocess.Popen, "__init__", call)

    def _pass(
        self, call: str, paths: tuple[str, ...], real: Callable[..., Any], arguments: tuple[Any, ...], keywords: Any
    ) -> Any:
        if not self._concerns(call, paths):
            return real(*arguments, **keywords)
        with self._one_by_one:
            return self._pass_alone(call, paths, real, arguments, keywords)

    def _pass_alone(
        self, call: str, paths: tuple[str, ...], real: Callable[..., Any], arguments: tuple[Any, ...], keywords: Any
    ) -> Any:
        """Run a call as a boundary, with a number; calls that the hook itself makes are not counted."""
        if self._busy:
            return real(*arguments, **keywords)
        size = len(arguments[1]) if call in ("write", "pwrite") else 0
        boundary = Boundary(number=self._number, call=call, paths=paths, size=size, site=_site())
        self._number += 1
        self._tell(boundary, Side.BEFORE, arguments)
        result = real(*arguments, **keywords)
        self._tell(boundary, Side.AFTER, arguments)
        return result

    def _tell(self, boundary: Boundary, side: Side, arguments: tuple[Any, ...]) -> None:
        """Call the hook; calls that the hook makes are no boundaries."""
        self._busy = True
        try:
            self._hook(boundary, side, arguments)
        finally:
            self._busy = False

    def _concerns(self, call: str, paths: tuple[str, ...]) -> bool:
        if call == "start" or not self._within:
            return call == "start" or any(path.startswith("/") for path in paths)
        return any(f"{path}/".startswith(f"{directory}/") for path in paths for directory in self._within)


def _two_paths(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[str, ...]:
    source = _absolute(arguments[0], keywords.get("src_dir_fd"))
    return source, _absolute(arguments[1], keywords.get("dst_dir_fd", keywords.get("dir_fd")))


def _absolute(path: Any, directory: int | None = None) -> str:
    """Return the absolute path; resolve links in its directory, but not the last part."""
    if isinstance(path, int):
        return _path_of(path)
    above = Path(_path_of(directory)) if directory is not None else Path.cwd()
    folder, name = os.path.split(above / os.fsdecode(path))
    return str(Path(os.path.realpath(folder), name))


def _path_of(descriptor: int) -> str:
    """Return the path of an open file; "pipe:[1]" if it has no path."""
    return str(Path(f"/proc/self/fd/{descriptor}").readlink()).removesuffix(" (deleted)")


def _is_file(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _site() -> tuple[str, ...]:
    """List the functions of fastinstall on the call stack, outermost first; a function appears only once."""
    names: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("fastinstall."):
            names.append(f"{module.removeprefix('fastinstall.')}.{frame.f_code.co_name}")
        frame = frame.f_back
    return tuple(reversed(tuple(dict.fromkeys(names))))
