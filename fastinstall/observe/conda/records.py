"""The packages of a conda environment, from their records in `conda-meta`.

A record that conda itself could not use is reported with what is wrong; the others are read all the same. URLs are kept
without passwords and tokens, so that they can be shown and stored. Packages that claim files which matter to PIL (its
own, libjpeg's and libtiff's) are found on the way, by a search of bytes that are read anyway.

A record is read in part: what it says of its package, and the names of its files. Nine tenths of a record of megabytes
are hashes of files, which nobody needs. They are skipped: conda, mamba and py-rattler all indent what they write, so a
line that begins with the indentation of the first key and a quote holds a key of the outermost object, whatever the
strings contain. A record in another form is read whole.

The reading is no check of the record: the paths between its list of files and its end are not looked at.
"""

import os
import re
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import public_text
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaPackage

Fields = dict[str, Any]

_HEAD, _TAIL = 1 << 14, 1 << 12  # bytes
_LISTED_SHARE = 4  # the names of the files take up less than a quarter of a record
_OPENING = re.compile(rb"\s*\{\n([ \t]+)\"")
_NEEDED = ("name", "version", "build", "depends", "url", "subdir")


class UnreadableRecordError(ValueError):
    """A record that cannot be read; the message says why."""


@immutable
class RecordSummary:
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


def summarize_record(path: Path | str) -> RecordSummary:
    """Read what describes a package, and what names its files.

    Raises:
        UnreadableRecordError: there is no JSON object in the file, or it cannot be read.
    """
    try:
        with foreign.open_foreign_file(path) as stream:
            descriptor = stream.fileno()
            size = os.fstat(descriptor).st_size
            if size > foreign.LISTING:
                raise UnreadableRecordError(f"is larger than {foreign.LISTING >> 20} MiB")
            for length in (max(_HEAD, size // _LISTED_SHARE), size):
                head = os.pread(descriptor, length, 0)
                summary = _read_in_pieces(head, descriptor, size)
                if summary is not None:
                    return summary
            return RecordSummary(fields=_parse_fields(head), text=head, listed=(0, len(head)))
    except OSError as error:
        raise UnreadableRecordError(error.strerror or str(error)) from None


def read_whole(path: Path | str) -> Fields:
    """Every field of a record.

    Raises:
        UnreadableRecordError: there is no JSON object in the file, or it cannot be read.
    """
    try:
        return _parse_fields(foreign.read_bytes(Path(path)))
    except OSError as error:
        raise UnreadableRecordError(error.strerror or str(error)) from None


def _read_in_pieces(head: bytes, descriptor: int, size: int) -> RecordSummary | None:
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
    fields = _join_pieces((head[:start], head[end + len(key) + 1 : paths], last[:-2]))
    return RecordSummary(fields=fields, text=head, listed=(start, end), margin=opening[1] * 2) if fields else None


def _join_pieces(pieces: tuple[bytes, ...]) -> Fields | None:
    """Join pieces of JSON into one object, or return None if it does not describe a package."""
    members = (piece.strip(b" \t\n,") for piece in pieces)
    try:
        fields = json_data(b",".join(filter(None, members)) + b"}", any_text=True)
    except ValueError:
        return None
    return fields if all(name in fields for name in _NEEDED) else None


def _parse_fields(content: bytes) -> Fields:
    try:
        document = json_data(content, any_text=True)
    except ValueError as error:
        raise UnreadableRecordError(_explain_unreadable_record(content, error)) from None
    if not isinstance(document, dict):
        raise UnreadableRecordError("not a JSON object")
    return document


def _explain_unreadable_record(content: bytes, error: Exception) -> str:
    if not content:
        return "empty"
    if not content.strip(b"\0"):
        return "nothing but zero bytes"
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"no valid JSON: {error}"


_SUFFIX = ".json"
_DASHES = 2


@immutable
class CondaRecords:
    """What `conda-meta` holds.

    Attributes:
        packages: of every record that can be read, sorted by name.
        unreadable: the others: file name to what is wrong.
        claiming: `dist` of the packages that may name files which matter to PIL.
    """

    packages: tuple[CondaPackage, ...]
    unreadable: dict[str, str]
    claiming: frozenset[str]


def read_records(conda_meta: Path) -> CondaRecords:
    """Read all of them (about 40 us each, however many files a package has).

    Args:
        conda_meta: the directory; one that is not there holds nothing.
    """
    packages: list[CondaPackage] = []
    unreadable: dict[str, str] = {}
    claiming: set[str] = set()
    clobbered = (conda_meta.parent / CLOBBERED).is_dir()
    for name in foreign.list_names(conda_meta):
        if not name.endswith(_SUFFIX) or name.startswith("._"):  # macOS keeps these on foreign file systems
            continue
        try:
            package, claims = _read(f"{conda_meta}/{name}", name, clobbered=clobbered)
        except UnreadableRecordError as error:
            unreadable[name] = str(error)
            continue
        packages.append(package)
        claiming |= {package.dist} if claims else set()
    return CondaRecords(packages=tuple(packages), unreadable=unreadable, claiming=frozenset(claiming))


def _read(path: str, name: str, *, clobbered: bool) -> tuple[CondaPackage, bool]:
    """A package, and whether it names files that matter."""
    if name.count("-") < _DASHES:
        raise UnreadableRecordError("its name is not NAME-VERSION-BUILD.json")
    glance = summarize_record(path)
    package = _parse_package(glance.fields)
    if package.record != name:
        raise UnreadableRecordError(f"it speaks of {package.dist}")
    return package, may_matter(glance, clobbered=clobbered)


def _parse_package(fields: Fields) -> CondaPackage:
    subdir, build_number = _parse_text(fields, "subdir"), fields.get("build_number", 0)
    if not isinstance(build_number, int):
        raise UnreadableRecordError("its build_number is not a number")
    return CondaPackage(
        name=_parse_text(fields, "name").lower(),
        version=_parse_text(fields, "version"),
        build=_parse_text(fields, "build"),
        build_number=build_number,
        subdir=subdir,
        channel=public_channel(_parse_text(fields, "channel"), subdir),
        url=public_text(_parse_text(fields, "url")),
        sha256=_parse_text(fields, "sha256"),
        depends=_parse_texts(fields, "depends"),
        constrains=_parse_texts(fields, "constrains"),
    )


def _parse_text(fields: Fields, key: str) -> str:
    found = fields.get(key)
    if found is not None and not isinstance(found, str):
        raise UnreadableRecordError(f"its {key} is not a text")
    return _make_printable(found or "")


def _parse_texts(fields: Fields, key: str) -> tuple[str, ...]:
    found: Any = fields.get(key) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise UnreadableRecordError(f"its {key} are not a list of texts")
    return tuple(map(_make_printable, found))


def _make_printable(text: str) -> str:
    """The text without halves of characters, which JSON can escape and nothing can write."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def public_channel(text: str, subdir: str = "") -> str:
    """A channel's name or URL, likewise, and without the subdirectory that conda adds in its records."""
    channel = public_text(text).rstrip("/")
    return channel.removesuffix(f"/{subdir}") if subdir else channel


CLOBBERED = "__clobbers__"
"""The directory that py-rattler moves files into which another package has in the same place."""

_MATTERING = re.compile(
    rf"(?:{CLOBBERED}/[^/]+/)?"
    r"(?:(?:.*/)?site-packages/PIL/.*"
    r"|lib/lib(?:jpeg|turbojpeg|tiff)[^/]*"
    r"|include/(?:jpeglib|jconfig|jmorecfg|jerror|tiff[^/]*)\.h)",
    re.DOTALL,
)
_INSIDE = b"packages/PIL/"
_ASIDE = f'"{CLOBBERED}/'.encode()
_BEGINNINGS = {
    b'"lib/lib': (b"jpeg", b"turbojpeg", b"tiff"),
    b'"include/': (b"jpeglib.h", b"jconfig.h", b"jmorecfg.h", b"jerror.h", b"tiff"),
}


def matters(path: str) -> bool:
    """Whether a file, by its path in the prefix, is below `PIL/`, or a library or a header of libjpeg or libtiff."""
    return _MATTERING.fullmatch(path) is not None


def may_matter(glance: RecordSummary, *, clobbered: bool) -> bool:
    """Whether a record names such a file; now and then it does not, after all.

    One search for every kind of place, in bytes: few packages have files there, and only these are looked at closely.

    Args:
        glance: of the record.
        clobbered: whether files were moved into `__clobbers__`.
    """
    text, (start, end) = glance.text, glance.listed
    if text.find(_INSIDE, start, end) >= 0 or (clobbered and text.find(_ASIDE, start, end) >= 0):
        return True
    for beginning, rests in _BEGINNINGS.items():
        place = text.find(glance.margin + beginning, start, end)
        if place >= 0 and any(text.find(beginning + rest, place, end) >= 0 for rest in rests):
            return True
    return False
