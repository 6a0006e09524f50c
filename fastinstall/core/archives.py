"""Read and unpack wheels, sdists and Debian packages with the standard library.

Only files and directories are written, all below the destination. Content is verified by the archive's hash, a wheel's
RECORD, or the checksum of the compression. Callers unpack into temporary directories, so the leftovers of a failure are
removed with the directory.
"""

import gzip
import io
import lzma
import os
import shutil
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from fastinstall.core import foreign
from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_CHUNK = 1 << 20
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstd.ZstdError),
    *(EOFError, UnicodeDecodeError, NotImplementedError, struct.error, OverflowError, RuntimeError),
    *(FileExistsError, NotADirectoryError, IsADirectoryError),  # two members have the same name
)
"""The exceptions that the libraries raise for a damaged archive."""


class ArchiveError(FailedError):
    """An archive is damaged or hostile.

    Args:
        file: the archive.
        reason: the problem, as a clause after the member's name: "is encrypted".
        member: the member with the problem; empty for the archive as a whole.
    """

    tag = "Archive"

    def __init__(self, file: Path, reason: str, member: str = "") -> None:
        problem = f"member {member!r} {reason}" if member else reason
        hint = f"remove it here and where it came from: rm {quote(file)}"
        super().__init__(f"{file}: damaged or hostile: {problem}", hint=hint)


@contextmanager
def open_zip(archive: Path) -> Iterator[zipfile.ZipFile]:
    """Open a wheel; errors of `zipfile` inside the block become an `ArchiveError`.

    Raises:
        ArchiveError: the wheel is damaged.
        OSError: the wheel cannot be read.
    """
    with foreign.open_foreign_file(archive) as stream, _errors_of(archive), zipfile.ZipFile(stream) as opened:
        yield opened


def list_zip_files(opened: zipfile.ZipFile) -> tuple[str, ...]:
    """Return the names of a wheel's members except directories."""
    return tuple(name for name in opened.namelist() if not name.endswith("/"))


def unpack_zip(archive: Path, directory: Path, wanted: Callable[[str], bool] = lambda _name: True) -> None:
    """Unpack the wanted files of a wheel.

    Args:
        directory: the destination; created if missing.
        wanted: a function that returns whether to unpack the member with the given name.

    Raises:
        ArchiveError: the wheel is damaged, or a member would be written outside the directory.
        OSError: the wheel cannot be read, or the directory cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with open_zip(archive) as opened:
        for info in opened.infolist():
            if wanted(info.filename) and not info.is_dir():
                with opened.open(info) as content:
                    _write_file(archive, directory, info.filename, content, is_program=info.external_attr >> 16 & 0o111)


def unpack_tar(archive: Path, directory: Path, wanted: Callable[[str], bool] = lambda _name: True) -> Path:
    """Unpack the wanted files of an sdist with their modification times; return the path of its top directory.

    Args:
        directory: the destination; created if missing.
        wanted: a function that returns whether to unpack the member with the given name.

    Raises:
        ArchiveError: the sdist is damaged or does not have exactly one top directory; or a wanted member is a link or a
            device, or would be written outside the destination.
        OSError: the sdist cannot be read, or the directory cannot be written.
    """
    tops: set[str] = set()
    with _open_tar_gz(archive) as opened:
        for info in opened:
            tops.update(PurePosixPath(info.name).parts[:1])
            if wanted(info.name):
                _unpack_tar_member(archive, opened, info, directory)
    if len(tops) != 1:
        raise ArchiveError(archive, f"expected one top directory, found {', '.join(sorted(tops)) or 'none'}")
    return directory / tops.pop()


def read_tar_member(archive: Path, wanted: Callable[[str], bool], *, thorough: bool = True) -> bytes:
    """Return the content of the first wanted file in an sdist; empty if there is no such file.

    Args:
        wanted: a function that returns whether the member with the given name is wanted.
        thorough: whether to verify the checksum of the compression first, which takes a second per 50 MB.

    Raises:
        ArchiveError: the sdist is damaged.
        OSError: the sdist cannot be read.
    """
    if thorough:
        with _errors_of(archive), gzip.open(archive) as stream:
            while stream.read(_CHUNK):
                pass
    with _open_tar_gz(archive) as opened:
        info = next((info for info in opened if info.isreg() and wanted(info.name)), None)
        return b"" if info is None else cast("IO[bytes]", opened.extractfile(info)).read()


def unpack_deb(archive: Path, directory: Path, below: str) -> None:
    """Unpack the files, but not the symbolic links, below one directory of a Debian package. Source: deb(5), ar(5).

    Args:
        archive: the package; its hash must be verified already.
        directory: the destination; created if missing.
        below: the directory to unpack, as a path in the package: "usr/include/".

    Raises:
        ArchiveError: the package is damaged.
        OSError: the package cannot be read, or the directory cannot be written.
    """
    with _errors_of(archive), tarfile.open(fileobj=_open_debian_data(archive), mode="r:") as opened:
        for info in opened:
            if info.name.removeprefix("./").startswith(below) and not info.issym():
                _unpack_tar_member(archive, opened, info, directory)


_AR_MAGIC, _AR_HEADER, _AR_NAME, _AR_SIZE = b"!<arch>\n", 60, slice(0, 16), slice(48, 58)
_DECOMPRESSORS = {"data.tar.xz": lzma.LZMAFile, "data.tar.zst": zstd.ZstdFile}


def _open_debian_data(archive: Path) -> IO[bytes]:
    """Open the decompressed tar archive with the files of a Debian package."""
    with foreign.open_foreign_file(archive) as stream:
        if stream.read(len(_AR_MAGIC)) != _AR_MAGIC:
            raise ArchiveError(archive, "is not a package of Debian")
        while (header := stream.read(_AR_HEADER))[_AR_SIZE].strip().isdigit():
            name, size = header[_AR_NAME].decode("ascii", "replace").strip().rstrip("/"), int(header[_AR_SIZE])
            if name in _DECOMPRESSORS:
                return cast("IO[bytes]", _DECOMPRESSORS[name](io.BytesIO(stream.read(size))))
            stream.seek(size + size % 2, os.SEEK_CUR)
    raise ArchiveError(archive, f"has none of {', '.join(_DECOMPRESSORS)}, or is truncated")


@contextmanager
def _open_tar_gz(archive: Path) -> Iterator[tarfile.TarFile]:
    with (
        foreign.open_foreign_file(archive) as stream,
        _errors_of(archive),
        tarfile.open(fileobj=stream, mode="r:gz", encoding="utf-8") as opened,
    ):
        yield opened


@contextmanager
def _errors_of(archive: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise ArchiveError(archive, f"cannot be read: {error}") from error


def _unpack_tar_member(archive: Path, opened: tarfile.TarFile, info: tarfile.TarInfo, directory: Path) -> None:
    # tarfile.data_filter is not used, because Debian's Python 3.11.2 does not have it.
    if info.isdir():
        return
    if not info.isfile():
        raise ArchiveError(archive, "is neither a file nor a directory", info.name)
    with closing(cast("IO[bytes]", opened.extractfile(info))) as content:
        path = _write_file(archive, directory, info.name, content, is_program=info.mode & 0o111)
    os.utime(path, (info.mtime, info.mtime))


def _write_file(archive: Path, directory: Path, name: str, content: IO[bytes], *, is_program: int) -> Path:
    """Write a member to a new file with mode 0755 (programs) or 0644, minus the umask; return the file's path."""
    if name.startswith("/") or ".." in name.split("/"):
        raise ArchiveError(archive, "would be unpacked outside the directory", name)
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o755 if is_program else 0o644), "wb") as stream:
        shutil.copyfileobj(content, stream, _CHUNK)
    return path
