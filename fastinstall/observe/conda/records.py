"""Read the packages of a conda environment from their records in `conda-meta`.

Unreadable records are reported with their problem; the other records are still read. Passwords and tokens are removed
from URLs, so that URLs can be shown and stored. Records are also searched, as bytes, for paths of PIL, libjpeg and
libtiff: packages with such paths may claim files relevant to PIL.

Only the description of the package is parsed. Nine tenths of a large record are files and hashes, which are skipped and
not validated. This works because conda, mamba and py-rattler all indent their output: a line that starts with the first
key's indentation and a quote always has a key of the outermost object. A record in another form is parsed completely.
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
_KINDS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("name", "version", "build", "subdir", "channel", "url", "sha256"), (str, "a string")),
    **dict.fromkeys(("depends", "constrains"), (list, "a list of strings")),
    "build_number": (int, "a number"),
}
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
    b'"__clobbers__/',  # py-rattler moves a file below this directory if another package contains the same path
)
"""Every record that lists a relevant file contains one of these; a few other records do too."""


class UnreadableRecordError(ValueError):
    """A record cannot be read; the message gives the reason."""


@immutable
class CondaRecords:
    """The contents of `conda-meta`.

    Attributes:
        packages: the package of each readable record, sorted by the record's file name.
        unreadable: the problem of each unreadable record, by file name.
        claiming: `CondaPackage.dist` of each package that may claim files relevant to PIL.
    """

    packages: tuple[CondaPackage, ...]
    unreadable: dict[str, str]
    claiming: frozenset[str]


def read_records(conda_meta: Path) -> CondaRecords:
    """Read all records of an environment. Reading one takes about 50 us, however many files its package has.

    Args:
        conda_meta: the directory with the records; a missing directory counts as empty.
    """
    packages: list[CondaPackage] = []
    unreadable: dict[str, str] = {}
    claiming: set[str] = set()
    for name in foreign.list_names(conda_meta):
        if not name.endswith(".json") or name.startswith("._"):  # macOS writes "._" files on foreign file systems
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


def read_all_fields(path: Path) -> Fields:
    """Return every field of a record.

    Raises:
        UnreadableRecordError: the file does not contain a JSON object, or cannot be read.
    """
    return parse_fields(_read_content(path))


def parse_fields(content: bytes) -> Fields:
    """Return every field of a record from its content.

    Raises:
        UnreadableRecordError: the content is not a JSON object.
    """
    try:
        document = json_data(content, any_text=True)
    except ValueError as error:
        problem = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"not valid JSON: {error}"
        if not content.strip(b"\0"):
            problem = "only zero bytes" if content else "empty"
        raise UnreadableRecordError(problem) from None
    if not isinstance(document, dict):
        raise UnreadableRecordError("not a JSON object")
    return document


def package_from_record(fields: Fields) -> CondaPackage:
    """Return the package that a record, or an entry in a channel's index, describes; missing fields count as empty."""
    number, subdir = str(fields.get("build_number")), _get_text(fields, "subdir")
    return CondaPackage(
        name=_get_text(fields, "name").lower(),
        version=_get_text(fields, "version"),
        build=_get_text(fields, "build") or _get_text(fields, "build_string"),
        build_number=int(number) if number.isdecimal() else 0,
        subdir=subdir,
        channel=public_channel(_get_text(fields, "channel"), subdir),
        url=public_text(_get_text(fields, "url")),
        sha256=_get_text(fields, "sha256"),
        depends=tuple(map(_make_printable, fields.get("depends") or ())),
        constrains=tuple(map(_make_printable, fields.get("constrains") or ())),
    )


def matters(path: str) -> bool:
    """Return whether a path in the prefix is below `PIL/`, or is a library or header of libjpeg or libtiff."""
    return _MATTERING.fullmatch(path) is not None


def public_channel(text: str, subdir: str = "") -> str:
    """Return a channel's name or URL without passwords and tokens, and without the suffix `subdir`."""
    channel = public_text(text).rstrip("/")
    return channel.removesuffix(f"/{subdir}") if subdir else channel


def _read(path: Path) -> tuple[CondaPackage, bytes]:
    """Return the package that a record describes, and the part of the record that lists its files."""
    if path.name.count("-") < _DASHES:
        raise UnreadableRecordError("its name is not NAME-VERSION-BUILD.json")
    content = _read_content(path)
    fields, listed = _parse_in_pieces(content) or (parse_fields(content), content)
    _refuse_wrong_kinds(fields)
    package = package_from_record(fields)
    if package.record != path.name:
        raise UnreadableRecordError(f"it describes {package.dist}")
    return package, listed


def _read_content(path: Path) -> bytes:
    try:
        return foreign.read_bytes(path)
    except OSError as error:
        raise UnreadableRecordError(error.strerror or str(error)) from None


def _parse_in_pieces(content: bytes) -> tuple[Fields, bytes] | None:
    """Return the package's fields and the part of the record that lists files; None for a record in another form."""
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


def _refuse_wrong_kinds(fields: Fields) -> None:
    for key, (kind, words) in _KINDS.items():
        value = fields.get(key)
        texts = value if kind is list and isinstance(value, list) else ()
        if not isinstance(value, kind | None) or not all(isinstance(each, str) for each in texts):
            raise UnreadableRecordError(f"its {key} is not {words}")


def _get_text(fields: Fields, key: str) -> str:
    return _make_printable(fields.get(key) or "")


def _make_printable(value: object) -> str:
    """Return a value as text, without lone surrogates: JSON can contain them as escapes, but UTF-8 cannot."""
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
