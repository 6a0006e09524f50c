"""JSON documents of many hosts: a file each in a directory, or one in each line of a file. Read one at a time."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from fastinstall.errors import DocumentError, UsageError
from fastinstall.model.immutable import immutable
from fastinstall.rules.messages import quote

LARGEST = 1 << 24
"""Bytes; no document of one host is larger."""

_LINES = (".jsonl", ".ndjson")
_END = 300  # bytes


@immutable
class HostDocument:
    """One document, as it was found.

    Attributes:
        name: of the host, by the file's name; the document itself may give another.
        file: for messages; with the line's number where it is one of several.
        modified: the file's time, in seconds since the epoch.
        content: of the document, or its beginning.
        end: its last bytes, where the content is only a beginning; empty where it is whole.
        problem: why there is no content; empty where there is.
    """

    name: str
    file: str
    modified: float = 0.0
    content: bytes = b""
    end: bytes = b""
    problem: str = ""


def document_files(place: Path, flag: str) -> tuple[Path, ...]:
    """The files with documents of hosts, by name: those of a directory, hidden ones apart, or one file itself.

    Args:
        place: the directory, or the file.
        flag: that named it, for messages.

    Raises:
        UsageError: it is not there, or cannot be read.
    """
    try:
        if not place.is_dir():
            place.stat()
            return (place,)
        with os.scandir(place) as entries:
            shown = (entry for entry in entries if not entry.name.startswith("."))
            names = sorted(entry.name for entry in shown if not _is_directory(entry))
    except OSError as error:
        raise UsageError(f"{flag} {place}: {error.strerror or error}", hint=f"ls -ld {quote(place)}") from None
    return tuple(place / name for name in names)


def read_documents(files: Iterable[Path], *, beginning: int = LARGEST) -> Iterator[HostDocument]:
    """The documents of files, one at a time.

    Args:
        files: each a document; with the suffix .jsonl or .ndjson, a document in each line.
        beginning: bytes that are read of a longer document that has a file to itself; `read_whole` reads the others.
    """
    for file in files:
        try:
            yield from _documents_of(file, beginning)
        except OSError as error:
            yield HostDocument(
                name=_name_of(file), file=str(file), problem=f"cannot be read: {error.strerror or error}"
            )


def error_in(error: DocumentError) -> str:
    """What is wrong with a document, without the name of its file, so that what many have can be counted."""
    return f"{error.key}: {error.problem}" if error.key else error.problem


def read_whole(document: HostDocument) -> bytes:
    """All of a document; more than LARGEST bytes where it is larger than any that is one.

    Raises:
        DocumentError: it is gone, or cannot be read.
    """
    if not document.end:
        return document.content
    try:
        with _opened(Path(document.file)) as stream:
            return stream.read(LARGEST + 1)
    except OSError as error:
        raise DocumentError(document.file, "", f"cannot be read: {error.strerror or error}") from None


def name_in(fields: dict[str, Any], document: HostDocument) -> str:
    """The host that a document speaks of: its key "host", else as its file is named.

    Raises:
        DocumentError: the key holds no name.
    """
    name = fields.get("host", document.name)
    if not isinstance(name, str) or not name.strip():
        raise DocumentError(document.file, "host", "expected a name")
    return name


def moment_in(fields: dict[str, Any], document: HostDocument) -> float:
    """When a document was written, in seconds since the epoch: its key "observed_at", else the file's time.

    Raises:
        DocumentError: the key holds no time.
    """
    if "observed_at" not in fields:
        return document.modified
    text = fields["observed_at"]
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None:
        problem = f"expected a time like 2026-11-21T09:30:00Z, found {text!r}"
        raise DocumentError(document.file, "observed_at", problem)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _documents_of(file: Path, beginning: int) -> Iterator[HostDocument]:
    name = _name_of(file)
    with _opened(file) as stream:
        modified = os.fstat(stream.fileno()).st_mtime
        if file.suffix not in _LINES:
            content, end = _ends(stream.fileno(), beginning)
            yield HostDocument(name=name, file=str(file), modified=modified, content=content, end=end)
            return
        for number, line in enumerate(iter(lambda: stream.readline(LARGEST + 1), b""), start=1):
            if line.strip():
                place = f"{file}:{number}"
                yield HostDocument(name=f"{name}:{number}", file=place, modified=modified, content=line)


def _ends(descriptor: int, beginning: int) -> tuple[bytes, bytes]:
    """The beginning of a file, and its last bytes where that is not all of it."""
    size = os.fstat(descriptor).st_size
    if size <= beginning:
        return os.pread(descriptor, size, 0), b""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # what lies between is not fetched from the disk
    return os.pread(descriptor, beginning, 0), os.pread(descriptor, _END, size - _END)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    """A link that leads nowhere or round in a ring is a file that cannot be read, and is told by its name then."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _name_of(file: Path) -> str:
    """A name with dots has only a suffix of ours taken off."""
    return file.stem if file.suffix in {".json", *_LINES} else file.name


def _opened(file: Path) -> BinaryIO:
    """Nothing but a file is read, and no FIFO is waited for."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "is no file")
