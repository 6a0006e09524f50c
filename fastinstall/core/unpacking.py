"""The safe writing of an archive's members: into directories of ours, through no link and with modes of ours."""

import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from fastinstall.core import files

_NO_FOLLOWING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Unpacking:
    """A tree while it is written. Where the block fails, what it wrote is taken away again.

    Modes are 0755 and 0644 less the umask, whatever the archive says.

    Args:
        root: the directory that receives it; made if it is not there.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: set[str] = set()
        self._tops: set[str] = set()
        missing = itertools.takewhile(lambda each: not each.is_dir(), (root, *root.parents))
        self._outermost = next(reversed(list(missing)), None)

    def directory(self, name: str) -> None:
        """Make a directory, with those above it."""
        if name and name not in self._made:
            self.directory(name.rpartition("/")[0])
            (self._root / name).mkdir(0o755)
            self._note_top(name)
            self._made.add(name)

    def file(self, name: str, content: Iterable[bytes], *, executable: bool, mtime: int | None = None) -> None:
        """Write a file that is not there yet.

        Args:
            name: relative to the root, with slashes.
            content: the content in pieces of any size.
            executable: whether it may be run.
            mtime: seconds since 1970; None for now.

        Raises:
            OSError: as the kernel says.
        """
        self.directory(name.rpartition("/")[0])
        descriptor = os.open(self._root / name, _NO_FOLLOWING, 0o755 if executable else 0o644)
        self._note_top(name)
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(content)
        if mtime is not None:
            os.utime(self._root / name, (mtime, mtime), follow_symlinks=False)

    def __enter__(self) -> Self:
        """Make the directory where it is missing."""
        self._root.mkdir(0o755, parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take away what was written, where the block failed."""
        if kind is None:
            return
        for name in self._tops:
            files.discard(self._root / name)
        if self._outermost is not None:
            files.discard(self._outermost)

    def _note_top(self, name: str) -> None:
        self._tops.add(name.partition("/")[0])
