"""Read packages of Debian and Ubuntu (`.deb`) without their tools: an `ar` archive around a compressed tar archive.

Only files below one directory are unpacked, by the same rules as wheels and sdists; other members and symbolic links
are passed over. Nothing is installed, and no script of a package is run. A package is compared with its hash first.

Source: deb(5), ar(5).
"""

import io
import lzma
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from fastinstall.core import foreign
from fastinstall.core.archive_members import (
    ArchiveError,
    ArchiveMember,
    Objection,
    explain_archive_objection,
    simplify_member_name,
)
from fastinstall.core.archives import BROKEN, Unpacking, make_tar_member, open_bounded_tar, unpack_tar_member

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MAGIC = b"!<arch>\n"
_HEADER, _NAME, _SIZE, _END = 60, slice(0, 16), slice(48, 58), b"`\n"
_DATA = "data.tar."
_MOST_PACKED = 1 << 26
"""Bytes of a package's compressed files. libpython3.14-dev has 6 MB."""


def unpack_deb(archive: Path, directory: Path, below: str) -> None:
    """Unpack the files of a package that lie below one of its directories.

    Args:
        archive: the package, its hash verified.
        directory: where to, an empty one; made if it is not there.
        below: the directory in the package: "usr/include/".

    Raises:
        ArchiveError: it is damaged or hostile; nothing is left of it.
        OSError: it cannot be read, or the directory cannot be written.
    """
    with foreign.open_foreign_file(archive) as stream, Unpacking(directory) as unpacking:
        size = os.fstat(stream.fileno()).st_size
        try:
            with open_bounded_tar(_open_data(archive, stream)) as opened:
                objection = explain_archive_objection(_unpack_members(opened, below, unpacking), size)
        except (*BROKEN, lzma.LZMAError, zstd.ZstdError) as error:
            raise ArchiveError(archive, Objection(reason=f"cannot be read: {error}")) from error
        if objection is not None:
            raise ArchiveError(archive, objection)


def _unpack_members(opened: tarfile.TarFile, below: str, unpacking: Unpacking) -> Iterator[ArchiveMember]:
    """Yield each wanted member before it is unpacked; whoever objects to it asks for no further one."""
    for info in opened:
        if simplify_member_name(info.name).startswith(below) and not info.issym():
            yield make_tar_member(info)
            unpack_tar_member(opened, info, unpacking)


def _open_data(archive: Path, stream: BinaryIO) -> BinaryIO:
    """Return the decompressed tar archive with a package's files."""
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise ArchiveError(archive, Objection(reason="is not a package of Debian"))
    while len(header := stream.read(_HEADER)) == _HEADER and header.endswith(_END) and header[_SIZE].strip().isdigit():
        name, size = header[_NAME].decode("ascii", "replace").strip().rstrip("/"), int(header[_SIZE])
        if size > _MOST_PACKED:
            raise ArchiveError(archive, Objection(member=name, reason=f"has {size} bytes"))
        if name.startswith(_DATA):
            return _decompress(archive, name, io.BytesIO(stream.read(size)))
        stream.seek(size + size % 2, os.SEEK_CUR)
    raise ArchiveError(archive, Objection(reason=f"has no {_DATA}*, or is truncated"))


def _decompress(archive: Path, name: str, packed: BinaryIO) -> BinaryIO:
    match name.removeprefix(_DATA):
        case "xz":
            return cast("BinaryIO", lzma.LZMAFile(packed))
        case "zst":
            return cast("BinaryIO", zstd.ZstdFile(packed))
        case _:
            raise ArchiveError(
                archive, Objection(member=name, reason="is compressed in a way that Debian does not use")
            )
