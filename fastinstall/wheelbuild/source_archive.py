"""Unpack an sdist: only regular files and directories below one top directory."""

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from fastinstall.core.archives import unpack_tar

NOT_COMPILED = ("Tests", "docs")  # they are 19/20 of Pillow's sdist


def extract_source(sdist: Path, directory: Path, *, but: Collection[str] = (), only: Collection[str] = ()) -> Path:
    """Unpack an sdist.

    Args:
        sdist: a tar archive, compressed with gzip.
        directory: the destination; created if missing.
        but: entries of the top directory to leave out ("Tests").
        only: the only entries of the top directory to unpack; empty for all.

    Returns:
        The one top directory of the archive.

    Raises:
        FailedError: it is not such an archive, is damaged, or holds a member that no sdist needs: an absolute path,
            "..", a link, a device, or a second top directory. Then nothing is unpacked.
        OSError: as the kernel says.
    """
    return directory / unpack_tar(sdist, directory, lambda name: _is_wanted(PurePosixPath(name), but, only))


def _is_wanted(path: PurePosixPath, but: Collection[str], only: Collection[str]) -> bool:
    below = path.parts[1:2]
    return not below or (below[0] not in but and (not only or below[0] in only))
