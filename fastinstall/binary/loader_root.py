"""Where a path of the target lies on this machine: below a directory that stands for "/", links followed as there."""

import errno
import os
from pathlib import Path

_MOST_LINKS = 40


class Root:
    """A directory that stands for "/": the filesystem of a container, say.

    The directory itself is never resolved, so that `/proc/PID/root` leads into that process's filesystem.

    Args:
        directory: what stands for "/".
        working_directory: from which relative paths go, absolute in that filesystem.
    """

    __slots__ = ("_links", "_prefix", "working_directory")

    def __init__(self, directory: Path = Path("/"), working_directory: str = "/") -> None:
        self._prefix = str(directory).rstrip("/")
        self._links: dict[str, str | None] = {}
        self.working_directory = working_directory

    def place(self, path: str) -> str:
        """The path on this machine of a path of the target; whether anything is there is not asked.

        Raises:
            OSError: links that lead in a circle, or `..` behind what is no directory.
        """
        absolute = self.absolute(path)
        return self._prefix + self._followed(absolute) if self._prefix else absolute

    def absolute(self, path: str) -> str:
        """A path as it is, from "/" on."""
        return path if path.startswith("/") else f"{self.working_directory.rstrip('/')}/{path}"

    def real(self, path: str) -> str:
        """The path without links, as the target sees it.

        Raises:
            OSError: as for `place`.
        """
        absolute = self.absolute(path)
        return self._followed(absolute) if self._prefix else str(Path(absolute).resolve())

    def _followed(self, path: str) -> str:
        here, ahead, links = "", _parts(path), 0
        while ahead:
            part = ahead.pop()
            if part == "..":
                if not Path(f"{self._prefix}{here}/").is_dir():
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), here)
                here = here.rpartition("/")[0]
                continue
            target = self._link(f"{here}/{part}")
            if target is None:
                here = f"{here}/{part}"
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            here = "" if target.startswith("/") else here
            ahead += _parts(target)
        return here or "/"

    def _link(self, path: str) -> str | None:
        """Where a symbolic link leads; None for what is none."""
        if path not in self._links:
            try:
                self._links[path] = str(Path(self._prefix + path).readlink())
            except OSError:
                self._links[path] = None
        return self._links[path]


def _parts(path: str) -> list[str]:
    """The components of a path, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
