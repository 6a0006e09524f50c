"""Read files that other users or programs may have written: only regular ones, without blocking, up to a size limit.

For a FIFO, a device, a directory or a file above the limit, an OSError is raised, and its text gives the reason.
`core.parsing` interprets the content.
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
"""Size limit of a document, in bytes. The largest documents are saved plans and the facts of one host (1 MiB)."""

LISTING = 1 << 26
"""Size limit of other files, in bytes. torch's RECORD has 2 MiB; conda records and lock files have at most tens."""

_CHUNK = 1 << 20

_KINDS = (
    (stat.S_ISDIR, errno.EISDIR, "Is a directory"),
    (stat.S_ISFIFO, errno.EINVAL, "is a FIFO, not a file"),
    (stat.S_ISCHR, errno.EINVAL, "is a device, not a file"),
    (stat.S_ISBLK, errno.EINVAL, "is a device, not a file"),
)


def open_foreign_file(path: Path | str) -> BufferedReader:
    """Open a regular file for reading, without blocking on a FIFO.

    Raises:
        OSError: the file is missing, cannot be opened, or is not a regular file; the text says what it is instead.
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
        path: the path of a regular file.
        limit: the maximum size of the file, in bytes.

    Raises:
        OSError: the file cannot be read, is not a regular file, or is larger than `limit`.
    """
    with open_foreign_file(path) as stream:
        if os.fstat(stream.fileno()).st_size <= limit:
            content = stream.read(limit + 1)  # the size that stat reports may be wrong: /proc and /sys report 0
            if len(content) <= limit:
                return content
    raise OSError(errno.EFBIG, f"is larger than {limit >> 20} MiB", os.fspath(path))


def read_text(path: Path | str, encoding: str = "utf-8", errors: str = "strict", *, limit: int = LISTING) -> str:
    """Read the content of a file as text, with all line endings as newlines.

    Raises:
        OSError: the file cannot be read, is not a regular file, or is larger than `limit`.
        UnicodeDecodeError: the content cannot be decoded, and `errors` is "strict".
    """
    text = read_bytes(path, limit=limit).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def bytes_or_empty(path: Path | str) -> bytes:
    """Return the content of a file; empty if it cannot be read, for any reason."""
    try:
        return read_bytes(path)
    except OSError:
        return b""


def text_or_empty(path: Path | str, errors: str = "replace") -> str:
    """Return the content of a file as text; empty if it cannot be read, for any reason."""
    try:
        return read_text(path, errors=errors)
    except OSError:
        return ""


def list_names(directory: Path | str) -> list[str]:
    """Return the sorted names of a directory's entries; empty if it cannot be read, for any reason."""
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 (faster than a path object for each entry)
    except OSError:
        return []


def bytes_if_there(path: Path, *, limit: int = LISTING) -> bytes | None:
    """Return a file's content, or None if the file does not exist.

    Raises:
        DocumentError: the path exists and cannot be read; the message names the file.
    """
    try:
        return read_bytes(path, limit=limit)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _make_unreadable_error(path, error) from None


def text_if_there(path: Path) -> str:
    """Return a file's content as text, or "" if the file does not exist; bytes that are not UTF-8 become surrogates.

    Raises:
        DocumentError: the path exists and cannot be read; the message names the file.
    """
    return (bytes_if_there(path) or b"").decode("utf-8", "surrogateescape")


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if the file cannot be read, or contains something else."""
    try:
        data = json_data(read_bytes(path))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def read_kept(cls: type[T], name: str, path: Path) -> T | None:
    """Read a document that can be recreated, such as a cached result.

    Args:
        cls: the class of the document's content.
        name: the name of the document's schema: NAME in "fastinstall.NAME/1".
        path: the document's path; the file may be missing.

    Returns:
        The content; None if the document is missing, damaged, or from a version with another format.
    """
    try:
        return open_document(cls, name, json_data(read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None


def read_json(path: Path) -> Any:  # noqa: ANN401 (JSON has no static type)
    """Read a JSON file, and return its data.

    Raises:
        DocumentError: the file cannot be read, or is not JSON; the message names the file.
    """
    return parse_json(_read_document_text(path), file=path)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file, and return its data.

    Raises:
        DocumentError: the file cannot be read, or is not TOML; the message names the file.
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
