"""Read files that others may have put there: without blocking, regular files only, and never more than a bound.

A FIFO is not waited for, a device or directory is refused, and a file is read up to a bound. What is not readable for
such a reason is an OSError like any other, whose text says why. What the content means is for `core.parsing`.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar

from fastinstall.core.codec import open_document
from fastinstall.core.errors import DocumentError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data, parse_json, parse_toml

T = TypeVar("T")

DOCUMENT = 1 << 24
"""Bytes. The largest documents are the facts of one host (1 MiB) and saved plans; settings are a few lines."""

LISTING = 1 << 26
"""Bytes. RECORD of torch has 2 MiB, a journal a line for each move, a conda record or a lock tens of MiB at most."""

_CHUNK = 1 << 20

_KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "Is a directory"),
    (stat.S_ISFIFO, errno.EINVAL, "is a FIFO, not a file"),
    (stat.S_ISCHR, errno.EINVAL, "is a device, not a file"),
    (stat.S_ISBLK, errno.EINVAL, "is a device, not a file"),
)


def open_foreign_file(path: Path | str) -> BufferedReader:
    """Open a file for reading; a FIFO is not waited for.

    Raises:
        OSError: it is not there, cannot be opened, or is no file: as the kernel says, or with what it is.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    number, words = next((each[1:] for each in _KINDS if each[0](mode)), (errno.EINVAL, "is not a file"))
    raise OSError(number, words, os.fspath(path))


def read_bytes(path: Path | str, *, limit: int = LISTING) -> bytes:
    """Read the content of a file.

    Args:
        path: of a regular file.
        limit: bytes that it may have.

    Raises:
        OSError: it cannot be read, is no file, or is larger.
    """
    with open_foreign_file(path) as stream:
        if os.fstat(stream.fileno()).st_size <= limit:
            content = stream.read(limit + 1)  # a file of the kernel's says that it has none
            if len(content) <= limit:
                return content
    raise OSError(errno.EFBIG, f"is larger than {limit >> 20} MiB", os.fspath(path))


def read_text(path: Path | str, encoding: str = "utf-8", errors: str = "strict", *, limit: int = LISTING) -> str:
    """Read the content of a file as text, its lines ended by newlines alone; like `read_bytes`.

    Raises:
        OSError: as of `read_bytes`.
        UnicodeDecodeError: it is not text, and `errors` does not say what then.
    """
    text = read_bytes(path, limit=limit).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def bytes_or_empty(path: Path | str) -> bytes:
    """Read the content of a file; empty if it cannot be read, for whatever reason."""
    try:
        return read_bytes(path)
    except OSError:
        return b""


def text_or_empty(path: Path | str, errors: str = "replace") -> str:
    """Read the content of a file as text; empty if it cannot be read, for whatever reason."""
    try:
        return read_text(path, errors=errors)
    except OSError:
        return ""


def list_names(directory: Path | str) -> list[str]:
    """Return the names in a directory, sorted; none if it cannot be read, for whatever reason."""
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 (thousands of paths are not worth as many objects)
    except OSError:
        return []


def bytes_if_there(path: Path, *, limit: int = LISTING) -> bytes | None:
    """Read a file's content, or return None if it does not exist.

    Raises:
        DocumentError: something is there and cannot be read; names the file.
    """
    try:
        return read_bytes(path, limit=limit)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _make_unreadable_error(path, error) from None


def text_if_there(path: Path) -> str:
    """Read the content of a file as text; bytes that are none are escaped, and it is empty if nothing is there.

    Raises:
        DocumentError: something is there and cannot be read; names the file.
    """
    return (bytes_if_there(path) or b"").decode("utf-8", "surrogateescape")


def read_kept(cls: type[T], name: str, path: Path) -> T | None:
    """Read a document that is kept for convenience; None if it is missing, damaged, or of another time.

    Args:
        cls: the class of the document's content.
        name: of its schema: NAME in "fastinstall.NAME/1".
        path: of a file that may be missing.
    """
    try:
        return open_document(cls, name, json_data(read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None


def read_json(path: Path) -> Any:  # noqa: ANN401 (JSON is what it is)
    """Read the data of a JSON file.

    Raises:
        DocumentError: it cannot be read, or is not JSON; names the file.
    """
    return parse_json(_read_document_text(path), file=path)


def read_toml(path: Path) -> dict[str, Any]:
    """Read the data of a TOML file.

    Raises:
        DocumentError: it cannot be read, or is not TOML; names the file.
    """
    return parse_toml(_read_document_text(path), file=path)


def _read_document_text(path: Path) -> str:
    try:
        return read_text(path, limit=DOCUMENT)
    except OSError as error:
        raise _make_unreadable_error(path, error) from None
    except UnicodeDecodeError as error:
        raise DocumentError(path, "", f"cannot be read: not UTF-8 at byte {error.start}") from None


def _make_unreadable_error(path: Path, error: OSError) -> DocumentError:
    return DocumentError(
        path, "", f"cannot be read: {error.strerror or error}", hint=f"check what it is: ls -ld {quote(path)}"
    )
