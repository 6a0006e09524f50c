"""A record of `conda-meta`, read in part: what it says of its package, and the names of its files.

Of a record of megabytes nine tenths are hashes of files, which nobody asks for. They are passed over: conda, mamba and
py-rattler all indent what they write, so a line that begins with the indentation of the first key and a quote holds a
key of the outermost object, whatever the strings contain. What is written otherwise is read whole.

Not a check of the record: the paths between its list of files and its end are not looked at.
"""

import errno
import os
import re
from pathlib import Path
from typing import Any

from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.system import foreign

Fields = dict[str, Any]

_HEAD, _TAIL = 1 << 14, 1 << 12  # bytes
_LISTED_SHARE = 4  # the names of the files take up less than a quarter of a record
_OPENING = re.compile(rb"\s*\{\n([ \t]+)\"")
_NEEDED = ("name", "version", "build", "depends", "url", "subdir")


class UnreadableRecordError(ValueError):
    """A record that cannot be read; the message says why."""


@immutable
class Glance:
    """What was seen of a record.

    Attributes:
        fields: of its outermost object, without those that hold paths, unless it had to be read whole.
        text: bytes of the record, among them those that name its files.
        listed: where in them these begin and end.
        margin: what stands before each name, at the least.
    """

    fields: Fields
    text: bytes
    listed: tuple[int, int]
    margin: bytes = b""


def glance_at(path: Path | str) -> Glance:
    """Read what describes a package, and what names its files.

    Raises:
        UnreadableRecordError: there is no JSON object in the file, or it cannot be read.
    """
    try:
        with foreign.opened(path) as stream:
            return _glance(stream.fileno())
    except OSError as error:
        raise UnreadableRecordError(error.strerror or str(error)) from None


def read_whole(path: Path | str) -> Fields:
    """Every field of a record.

    Raises:
        UnreadableRecordError: there is no JSON object in the file, or it cannot be read.
    """
    try:
        return _parsed(foreign.read_bytes(Path(path)))
    except OSError as error:
        raise UnreadableRecordError(error.strerror or str(error)) from None


def _glance(descriptor: int) -> Glance:
    size = os.fstat(descriptor).st_size
    if size > foreign.LISTING:
        raise OSError(errno.EFBIG, f"is larger than {foreign.LISTING >> 20} MiB")
    head = os.pread(descriptor, max(_HEAD, size // _LISTED_SHARE), 0)
    glance = _in_pieces(head, descriptor, size)
    if glance is None and len(head) < size:
        head = os.pread(descriptor, size, 0)
        glance = _in_pieces(head, descriptor, size)
    return glance or Glance(fields=_parsed(head), text=head, listed=(0, len(head)))


def _in_pieces(head: bytes, descriptor: int, size: int) -> Glance | None:
    """Read a record's beginning and end, or return None if its files and paths are not between them."""
    opening = _OPENING.match(head)
    if opening is None:
        return None
    key = b"\n" + opening[1] + b'"'
    start = head.find(key + b'files": [\n')
    paths = head.find(key + b'paths_data": {\n', start)
    end = head.rfind(key[:-1] + b"],", start, paths)
    if min(start, end, paths) < 0:
        return None
    tail = head[paths + 1 :] if len(head) >= size else os.pread(descriptor, _TAIL, max(size - _TAIL, paths + 1))
    following = tail.find(key)
    last = tail[following:].rstrip() if following >= 0 else tail[-_TAIL:].rstrip()[-2:]
    if not last.endswith(b"\n}"):
        return None
    fields = _joined((head[:start], head[end + len(key) + 1 : paths], last[:-2]))
    return Glance(fields=fields, text=head, listed=(start, end), margin=opening[1] * 2) if fields else None


def _joined(pieces: tuple[bytes, ...]) -> Fields | None:
    """Join pieces of JSON into one object, or return None if it does not describe a package."""
    members = (piece.strip(b" \t\n,") for piece in pieces)
    try:
        fields = json_data(b",".join(filter(None, members)) + b"}", any_text=True)
    except ValueError:
        return None
    return fields if all(name in fields for name in _NEEDED) else None


def _parsed(content: bytes) -> Fields:
    try:
        document = json_data(content, any_text=True)
    except ValueError as error:
        raise UnreadableRecordError(_reason(content, error)) from None
    if not isinstance(document, dict):
        raise UnreadableRecordError("not a JSON object")
    return document


def _reason(content: bytes, error: Exception) -> str:
    if not content:
        return "empty"
    if not content.strip(b"\0"):
        return "nothing but zero bytes"
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"no valid JSON: {error}"
