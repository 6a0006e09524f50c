"""Unpack an sdist: regular files and directories below one top directory, and nothing else."""

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from fastinstall.errors import FailedError
from fastinstall.rules.messages import quote
from fastinstall.system.tars import unpack_tar


def extract_source(sdist: Path, directory: Path, *, but: Collection[str] = (), only: Collection[str] = ()) -> Path:
    """Unpack an sdist.

    Args:
        sdist: a tar archive, compressed by gzip.
        directory: where to; made if it is not there.
        but: entries of the top directory that are left out ("Tests").
        only: the only entries of the top directory that are wanted; empty for all.

    Returns:
        The one top directory of the archive.

    Raises:
        FailedError: it is no such archive, is damaged, or holds a member that no sdist needs: an absolute path,
            "..", a link, a device, or a second top directory. Nothing is unpacked then.
    """
    try:
        top = unpack_tar(sdist, directory, lambda name: _is_wanted(PurePosixPath(name), but, only))
    except OSError as error:
        where = error.filename or directory
        raise FailedError(
            f"{sdist}: cannot be unpacked: {where}: {error.strerror or error}",
            hint=f"df -h {quote(directory)}; ls -ld {quote(sdist)}",
        ) from error
    return directory / top


def _is_wanted(path: PurePosixPath, but: Collection[str], only: Collection[str]) -> bool:
    below = path.parts[1:2]
    return not below or (below[0] not in but and (not only or below[0] in only))
