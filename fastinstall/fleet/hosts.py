"""Read the facts of many hosts: a JSON document of each, in a directory of files or in the lines of one file.

Documents are read one at a time, and of each `inspect --json` only the few parts that decide about wheels. A document
has some 70 KB, of which 4 count here, and they stand at its beginning. So its first 16 KB are read key by key, and all
of it only if these are not enough. What is read is read as strictly as by the codec of the model, with values as
`json.loads` would give them. The rest is not checked, except that the text ends as a document does. What hosts have in
common is decoded once.

Two keys may be added by whoever collects, as first or as last: "host", its name, and "observed_at", when it was
written.
"""

import codecs
import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.values import decode, immutable
from fastinstall.elf.description import Cpu
from fastinstall.fleet.fleet import Cause, ExcludedHost, FleetHost, MachineClass
from fastinstall.model.facts import Interpreter
from fastinstall.model.request import Environment, EnvironmentKind
from fastinstall.model.stored_documents import migrate_fields, refuse_other_schema

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
        end: its last bytes, where the content is only a beginning; empty if it is whole.
        problem: why there is no content; empty if there is.
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
            yield from _read_documents(file, beginning)
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
        with _open_file(Path(document.file)) as stream:
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


def _read_documents(file: Path, beginning: int) -> Iterator[HostDocument]:
    name = _name_of(file)
    with _open_file(file) as stream:
        modified = os.fstat(stream.fileno()).st_mtime
        if file.suffix not in _LINES:
            content, end = _read_ends(stream.fileno(), beginning)
            yield HostDocument(name=name, file=str(file), modified=modified, content=content, end=end)
            return
        for number, line in enumerate(iter(lambda: stream.readline(LARGEST + 1), b""), start=1):
            if line.strip():
                place = f"{file}:{number}"
                yield HostDocument(name=f"{name}:{number}", file=place, modified=modified, content=line)


def _read_ends(descriptor: int, beginning: int) -> tuple[bytes, bytes]:
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


def _open_file(file: Path) -> BinaryIO:
    """Nothing but a file is read, and no FIFO is waited for."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "is no file")


_KEPT = 1024
_MINOR = re.compile(r"\d+\.\d+")
_NEEDED = ("schema", "environment", "frozen", "conda", "cpu", "interpreter")
_ADDED = ("host", "observed_at")
_BEGINNING, _EDGE = 1 << 14, 300  # bytes
_UNCUT = ("cpu",)
_PARTS = ("implementation", "version", "abi", "platform", "libc", "libc_version")
_KINDS = {kind.value: kind for kind in EnvironmentKind}
_ERROR = "fastinstall.error/1"
_OF_MANY = ("fastinstall.fleet/", "fastinstall.collected/")
_HINT = "write it again on that host: fastinstall inspect --json > HOST.json"
_decoder = codecs.getincrementaldecoder("utf-8")


def read_hosts(files: Iterable[Path]) -> Iterator[FleetHost | ExcludedHost]:
    """The hosts of facts files, one at a time; what cannot be read is left out with its reason.

    Args:
        files: each a document of `inspect --json`, or with one in each line (`host_documents`). Documents of ours that
            speak of many hosts are passed over.
    """
    for document in read_documents(files, beginning=_BEGINNING):
        try:
            host = read_host_facts(document)
        except DocumentError as error:
            yield ExcludedHost(
                host=document.name,
                cause=Cause.UNREADABLE,
                reason=error_in(error),
                hint=error.hint or _HINT,
                file=document.file,
            )
        else:
            if host is not None:
                yield host


def read_host_facts(document: HostDocument) -> FleetHost | None:
    """Read what counts from one document, or return None if it covers many hosts.

    Raises:
        DocumentError: it is none, is damaged, or of another schema.
    """
    fields = _parse_members(document)
    schema = str(fields.get("schema"))
    if schema.startswith(_OF_MANY):
        return None
    if schema == _ERROR:
        told = json_data(read_whole(document)).get("message")
        raise DocumentError(document.file, "", f"inspect failed there: {told}")
    refuse_other_schema("facts", fields.get("schema"), file=document.file, version="")
    try:
        return _parse_host(migrate_fields("facts", fields), document)
    except DocumentError as error:
        raise DocumentError(document.file, error.key, error.problem) from None


def _parse_members(document: HostDocument) -> dict[str, Any]:
    if document.problem:
        raise DocumentError(document.file, "", document.problem)
    if document.end:
        with contextlib.suppress(ValueError, RecursionError):  # more of it is needed, or it will be told below
            return _parse_first_members(document.content, document.end)
    content = read_whole(document)
    if len(content) > LARGEST:
        raise DocumentError(document.file, "", f"larger than {LARGEST >> 20} MiB, which no document of inspect is")
    try:
        return _parse_first_members(content, content[-_EDGE:])
    except (ValueError, RecursionError) as error:
        problem = f"is no JSON: {error}" if content.strip() else "is empty"
        raise DocumentError(document.file, "", problem) from None


def _parse_first_members(content: bytes, end: bytes) -> dict[str, Any]:
    """The members that count, of a document or of its beginning, which may be cut inside of a character."""
    edges = content[:_EDGE] + end
    wanted = [*_NEEDED, *(key for key in _ADDED if f'"{key}"'.encode() in edges)]
    return first_members(_decoder().decode(content), wanted, uncut=_UNCUT, end=end.decode("utf-8", "replace"))


def _parse_host(fields: dict[str, Any], document: HostDocument) -> FleetHost:
    for key in ("environment", "cpu", "interpreter"):
        if key not in fields:
            raise DocumentError(document.file, key, "missing")
    return FleetHost(
        name=name_in(fields, document),
        file=document.file,
        seen=moment_in(fields, document),
        machine=_make_machine(fields["cpu"], _parse_interpreter(fields["interpreter"])),
        kind=_parse_kind(fields["environment"]),
        protected=_describe_protection(fields),
    )


def _describe_protection(fields: dict[str, Any]) -> str:
    frozen, conda = fields.get("frozen"), fields.get("conda")
    if frozen is not None:
        if not isinstance(frozen, str):
            raise DocumentError("", "frozen", "expected a path")
        return f"the environment is frozen ({frozen})"
    if conda is None:
        return ""
    if not isinstance(conda, dict) or not isinstance(conda.get("is_base", False), bool):
        raise DocumentError("", "conda", "expected a table, with true or false in is_base")
    return "the environment is the one that conda itself lives in (base)" if conda.get("is_base") else ""


def _parse_kind(environment: object) -> EnvironmentKind:
    kind = environment.get("kind") if isinstance(environment, dict) else None
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind]
    return decode(Environment, environment, file="", key="environment", strict=False).kind


def _parse_interpreter(told: object) -> tuple[str, ...]:
    """What counts of an interpreter; the codec, which is slower, is asked where something is wrong."""
    found = tuple(part for name in _PARTS if isinstance(part := told.get(name), str)) if isinstance(told, dict) else ()
    if len(found) == len(_PARTS):
        return found
    interpreter = decode(Interpreter, told, file="", key="interpreter", strict=False)
    return tuple(getattr(interpreter, name) for name in _PARTS)


@lru_cache(maxsize=_KEPT)
def _parse_cpu(text: str) -> Cpu:
    """The processor without what differs among machines of one kind."""
    cpu = decode(Cpu, json_data(text), file="", key="cpu", strict=False)
    return replace(cpu, cores=1, quota=None)


@lru_cache(maxsize=_KEPT)
def _make_machine(cpu: str, interpreter: tuple[str, ...]) -> MachineClass:
    implementation, version, abi, platform, libc, libc_version = interpreter
    minor = _MINOR.match(version)
    if minor is None:
        raise DocumentError("", "interpreter.version", f"expected a version like 3.11.7, found {version!r}")
    return MachineClass(
        implementation=implementation,
        python=minor[0],
        abi=abi,
        architecture=platform.partition("-")[2],
        libc=libc,
        libc_version=libc_version,
        cpu=_parse_cpu(cpu),
    )


_QUOTE = re.compile(r'\s*"')
_COLON = re.compile(r"\s*:\s*")
_EMPTY = re.compile(r"\s*}\s*\Z")
_NOTHING = re.compile(r"\s*\Z")
_NEXT = re.compile(r"\s*([,}])")
_read = json.JSONDecoder().raw_decode


def first_members(
    text: str, wanted: Collection[str], *, uncut: Collection[str] = (), end: str | None = None
) -> dict[str, Any]:
    """The wanted members of an object; the first one of a name counts.

    Args:
        text: a JSON document, or its beginning.
        wanted: names of members. Once all of them were seen, the rest is passed over; but it must end as an object
            does.
        uncut: those of them whose value is given as it is written, for whoever compares before reading.
        end: the last characters of the document, where the text is only its beginning.

    Raises:
        ValueError: it is no JSON object, as far as it was looked at.
        RecursionError: it is nested too deeply.
    """
    found: dict[str, Any] = {}
    place = _find_opening(text)
    if _EMPTY.match(text, place):
        return found
    while len(found) < len(wanted):
        key, start = _read_key(text, place)
        value, stop = _read(text, start)
        if key in wanted and key not in found:
            found[key] = text[start:stop] if key in uncut else value
        following = _require_match(_NEXT, text, stop, "a comma or a brace")
        place = following.end()
        if following[1] == "}":
            _require_match(_NOTHING, text, place, "nothing more")
            break
    if not (text if end is None else end).rstrip().endswith("}"):
        raise ValueError("it has no end: only a part of it was written or copied")
    return found


def _find_opening(text: str) -> int:
    opening = re.match(r"\s*{", text)
    if opening is None:
        raise ValueError("it is no JSON object")
    return opening.end()


def _read_key(text: str, place: int) -> tuple[str, int]:
    """A key, and where its value begins."""
    key, end = _read(text, _require_match(_QUOTE, text, place, "a key").end() - 1)
    return key, _require_match(_COLON, text, end, "a colon").end()


def _require_match(pattern: re.Pattern[str], text: str, place: int, what: str) -> re.Match[str]:
    found = pattern.match(text, place)
    if found is None:
        raise ValueError(f"expected {what} at character {place}")
    return found
