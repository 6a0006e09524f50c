"""The packages of a conda environment, from their records in `conda-meta`.

A record that conda itself could not use is reported with what is wrong; the others are read all the same. URLs are kept
without passwords and tokens, so that they can be shown and stored. Packages that claim files which matter to PIL (its
own, libjpeg's and libtiff's) are found on the way, by a search of bytes that are read anyway.

A record is parsed in part: what it says of its package. Nine tenths of a record of megabytes are files and their
hashes, which nobody needs there. They are skipped: conda, mamba and py-rattler all indent what they write, so a line
that begins with the indentation of the first key and a quote holds a key of the outermost object, whatever the strings
contain. A record in another form is parsed whole.

The reading is no check of the record: the paths between its list of files and its end are not looked at.
"""

import re
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import public_text
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaPackage

Fields = dict[str, Any]

_TAIL = 1 << 12  # bytes
_OPENING = re.compile(rb"\s*\{\n([ \t]+)\"")
_NEEDED = ("name", "version", "build", "depends", "url", "subdir")
_SUFFIX = ".json"
_DASHES = 2

_MATTERING = re.compile(
    r"(?:__clobbers__/[^/]+/)?"
    r"(?:(?:.*/)?site-packages/PIL/.*"
    r"|lib/lib(?:jpeg|turbojpeg|tiff)[^/]*"
    r"|include/(?:jpeglib|jconfig|jmorecfg|jerror|tiff[^/]*)\.h)",
    re.DOTALL,
)
_TELLING = (
    *(b"packages/PIL/", b'"lib/libjpeg', b'"lib/libturbojpeg', b'"lib/libtiff', b'"include/jpeglib.h'),
    *(b'"include/jconfig.h', b'"include/jmorecfg.h', b'"include/jerror.h', b'"include/tiff'),
    b'"__clobbers__/',  # py-rattler moves files there which another package has in the same place
)
"""What stands in a record that names such a file; now and then in another one."""


class UnreadableRecordError(ValueError):
    """A record that cannot be read; the message says why."""


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
    """Read all of them (about 50 us each, however many files a package has).

    Args:
        conda_meta: the directory; one that is not there holds nothing.
    """
    packages: list[CondaPackage] = []
    unreadable: dict[str, str] = {}
    claiming: set[str] = set()
    for name in foreign.list_names(conda_meta):
        if not name.endswith(_SUFFIX) or name.startswith("._"):  # macOS keeps these on foreign file systems
            continue
        try:
            package, listed = _read(conda_meta / name)
        except UnreadableRecordError as error:
            unreadable[name] = str(error)
            continue
        packages.append(package)
        if any(each in listed for each in _TELLING):
            claiming.add(package.dist)
    return CondaRecords(packages=tuple(packages), unreadable=unreadable, claiming=frozenset(claiming))


def read_whole(path: Path) -> Fields:
    """Every field of a record.

    Raises:
        UnreadableRecordError: there is no JSON object in the file, or it cannot be read.
    """
    return _parse_fields(_read_content(path))


def matters(path: str) -> bool:
    """Whether a file, by its path in the prefix, is below `PIL/`, or a library or a header of libjpeg or libtiff."""
    return _MATTERING.fullmatch(path) is not None


def public_channel(text: str, subdir: str = "") -> str:
    """A channel's name or URL, without passwords, tokens and the subdirectory that conda adds in its records."""
    channel = public_text(text).rstrip("/")
    return channel.removesuffix(f"/{subdir}") if subdir else channel


def _read(path: Path) -> tuple[CondaPackage, bytes]:
    """A package, and the text that names its files."""
    if path.name.count("-") < _DASHES:
        raise UnreadableRecordError("its name is not NAME-VERSION-BUILD.json")
    content = _read_content(path)
    fields, listed = _parse_in_pieces(content) or (_parse_fields(content), content)
    package = _parse_package(fields)
    if package.record != path.name:
        raise UnreadableRecordError(f"it speaks of {package.dist}")
    return package, listed


def _read_content(path: Path) -> bytes:
    try:
        return foreign.read_bytes(path)
    except OSError as error:
        raise UnreadableRecordError(error.strerror or str(error)) from None


def _parse_in_pieces(content: bytes) -> tuple[Fields, bytes] | None:
    """What describes the package, and the text that names its files; None if these stand otherwise than in conda's."""
    opening = _OPENING.match(content)
    if opening is None:
        return None
    key = b"\n" + opening[1] + b'"'
    start = content.find(key + b'files": [\n')
    paths = content.find(key + b'paths_data": {\n', start)
    end = content.rfind(key[:-1] + b"],", start, paths)
    body = content.rstrip()
    if min(start, end, paths) < 0 or not body.endswith(b"\n}"):
        return None
    following = body.find(key, max(paths + 1, len(body) - _TAIL))
    last = body[following:-2] if following >= 0 else b""
    pieces = [piece.strip(b" \t\n,") for piece in (content[:start], content[end + len(key) + 1 : paths], last)]
    try:
        fields = json_data(b",".join(filter(None, pieces)) + b"}", any_text=True)
    except ValueError:
        return None
    return (fields, content[start:end]) if all(name in fields for name in _NEEDED) else None


def _parse_fields(content: bytes) -> Fields:
    try:
        document = json_data(content, any_text=True)
    except ValueError as error:
        problem = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"no valid JSON: {error}"
        if not content.strip(b"\0"):
            problem = "nothing but zero bytes" if content else "empty"
        raise UnreadableRecordError(problem) from None
    if not isinstance(document, dict):
        raise UnreadableRecordError("not a JSON object")
    return document


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
