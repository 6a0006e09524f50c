"""Unpack an sdist: regular files and directories below one top directory, and nothing else."""

import tarfile
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from fastinstall.errors import FailedError


def extract_source(sdist: Path, directory: Path, *, but: Collection[str] = (), only: Collection[str] = ()) -> Path:
    """Unpack an sdist into an empty directory.

    Args:
        sdist: a tar archive.
        directory: where to; made if it is not there.
        but: entries of the top directory that are left out ("Tests").
        only: the only entries of the top directory that are wanted; empty for all.

    Returns:
        The one top directory of the archive.

    Raises:
        FailedError: it is no tar archive, or holds a member that no sdist needs: an absolute path,
            "..", a link, a device, or a second top directory. Nothing is unpacked then.
    """
    try:
        with tarfile.open(sdist) as archive:
            members = archive.getmembers()
            top = _checked_top(sdist, members)
            wanted = [member for member in members if _is_wanted(PurePosixPath(member.name), but, only)]
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # absent before 3.11.4 (PEP 706)
            archive.extractall(directory, wanted)  # noqa: S202 (every member was checked above, by name and by kind)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise FailedError(f"{sdist}: cannot be unpacked: {error}", hint=f"rm {sdist} and run again") from error
    return directory / top


def _is_wanted(path: PurePosixPath, but: Collection[str], only: Collection[str]) -> bool:
    below = path.parts[1:2]
    return not below or (below[0] not in but and (not only or below[0] in only))


def _checked_top(sdist: Path, members: list[tarfile.TarInfo]) -> str:
    tops = {_checked(sdist, member) for member in members}
    if len(tops) != 1:
        raise FailedError(f"{sdist}: expected one top directory, found {', '.join(sorted(tops)) or 'none'}")
    return tops.pop()


def _checked(sdist: Path, member: tarfile.TarInfo) -> str:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise FailedError(f"{sdist}: member {member.name!r} would leave the directory it is unpacked to")
    if not (member.isfile() or member.isdir()):
        raise FailedError(f"{sdist}: member {member.name!r} is neither a file nor a directory")
    return path.parts[0]
