"""Protect root's renames in an environment from a user who replaces a directory by a link at the same time.

Each system call resolves its path again. A user who may write to the environment could replace a directory by a link
after root has checked the directory, and so have root move system files. Therefore root first opens the directory, then
follows ".." to check that it is inside the environment, and then uses it as `/proc/self/fd/N`.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from fastinstall.core.files import opened

_ROOT = 0
_OPEN = os.O_PATH | os.O_DIRECTORY


def identify_home(prefix: Path) -> os.stat_result | None:
    """Return the status of an environment's directory if `hold_parents` must protect it; otherwise None.

    Protection is needed if root runs this, and other users can replace entries of the prefix or of one of its parents.
    """
    if os.geteuid() != _ROOT or not any(map(_is_others, (prefix, *prefix.parents))):
        return None
    with suppress(OSError):
        return prefix.stat()
    return None


@contextmanager
def hold_parents(home: os.stat_result | None, *paths: Path) -> Iterator[tuple[Path, ...]]:
    """Hold the parent directories of paths open, and yield the paths through them: `/proc/self/fd/N/name`.

    If `home` is None, the paths are yielded unchanged.

    Args:
        home: the result of `identify_home` for the environment.
        paths: paths in the environment, which need not exist.

    Raises:
        PermissionError: a path is outside the environment.
        OSError: a directory cannot be opened, or the block raised an OSError; the error names the given paths.
    """
    if home is None:
        yield paths
        return
    with ExitStack() as stack:
        descriptors = [stack.enter_context(opened(path.parent, _OPEN)) for path in paths]
        for path, descriptor in zip(paths, descriptors, strict=True):
            if not _lies_within(descriptor, home):
                raise PermissionError(errno.EPERM, "leads outside the environment", str(path.parent))
        try:
            yield tuple(Path(f"/proc/self/fd/{each}", path.name) for each, path in zip(descriptors, paths, strict=True))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(paths[0]), None, str(paths[-1])) from error


def _lies_within(descriptor: int, home: os.stat_result) -> bool:
    with ExitStack() as stack:
        status = os.fstat(descriptor)
        while not os.path.samestat(status, home):
            above = stack.enter_context(opened("..", _OPEN, directory=descriptor))
            if os.path.samestat(os.fstat(above), status):
                return False
            descriptor, status = above, os.fstat(above)
    return True


def _is_others(path: Path) -> bool:
    with suppress(OSError):
        status = path.stat()
        is_open = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) and not status.st_mode & stat.S_ISVTX
        return status.st_uid != _ROOT or is_open
    return False
