"""Facts files of many hosts: of each document of `inspect --json` the few parts that decide about wheels.

A document has some 70 KB, of which 4 count here, and they stand at its beginning. So its first 16 KB are gone through
key by key, and all of it only where these are not enough; what is read is read as strictly as by the codec of the
model, which tells what is wrong. What comes after is not looked at, only whether the text ends as a document does. Two
keys may be added by whoever collects, as first or as last: "host", its name, and "observed_at", when it was written.
What hosts have in common is decoded once.
"""

import codecs
import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastinstall.errors import DocumentError
from fastinstall.model.codec import decode
from fastinstall.model.cpu import Cpu
from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.facts import Interpreter
from fastinstall.model.fleet import Cause, FleetHost, LeftOut, Machine
from fastinstall.model.migrations import migrated
from fastinstall.model.parsing import json_data
from fastinstall.model.stored import refuse_other_schema
from fastinstall.probes.host_documents import (
    LARGEST,
    HostDocument,
    error_in,
    moment_in,
    name_in,
    read_documents,
    read_whole,
)
from fastinstall.probes.json_members import first_members

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


def read_hosts(files: Iterable[Path]) -> Iterator[FleetHost | LeftOut]:
    """The hosts of facts files, one at a time; what cannot be read is left out with its reason.

    Args:
        files: each a document of `inspect --json`, or with one in each line (`host_documents`). Documents of ours that
            speak of many hosts are passed over.
    """
    for document in read_documents(files, beginning=_BEGINNING):
        try:
            host = read_host_facts(document)
        except DocumentError as error:
            yield LeftOut(
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
    fields = _members(document)
    schema = str(fields.get("schema"))
    if schema.startswith(_OF_MANY):
        return None
    if schema == _ERROR:
        told = json_data(read_whole(document)).get("message")
        raise DocumentError(document.file, "", f"inspect failed there: {told}")
    refuse_other_schema("facts", fields.get("schema"), file=document.file, version="")
    try:
        return _host(migrated("facts", fields), document)
    except DocumentError as error:
        raise DocumentError(document.file, error.key, error.problem) from None


def _members(document: HostDocument) -> dict[str, Any]:
    if document.problem:
        raise DocumentError(document.file, "", document.problem)
    if document.end:
        with contextlib.suppress(ValueError, RecursionError):  # more of it is needed, or it will be told below
            return _first(document.content, document.end)
    content = read_whole(document)
    if len(content) > LARGEST:
        raise DocumentError(document.file, "", f"larger than {LARGEST >> 20} MiB, which no document of inspect is")
    try:
        return _first(content, content[-_EDGE:])
    except (ValueError, RecursionError) as error:
        problem = f"is no JSON: {error}" if content.strip() else "is empty"
        raise DocumentError(document.file, "", problem) from None


def _first(content: bytes, end: bytes) -> dict[str, Any]:
    """The members that count, of a document or of its beginning, which may be cut inside of a character."""
    edges = content[:_EDGE] + end
    wanted = [*_NEEDED, *(key for key in _ADDED if f'"{key}"'.encode() in edges)]
    return first_members(_decoder().decode(content), wanted, uncut=_UNCUT, end=end.decode("utf-8", "replace"))


def _host(fields: dict[str, Any], document: HostDocument) -> FleetHost:
    for key in ("environment", "cpu", "interpreter"):
        if key not in fields:
            raise DocumentError(document.file, key, "missing")
    return FleetHost(
        name=name_in(fields, document),
        file=document.file,
        seen=moment_in(fields, document),
        machine=_machine(fields["cpu"], _interpreter(fields["interpreter"])),
        kind=_kind(fields["environment"]),
        protected=_protection(fields),
    )


def _protection(fields: dict[str, Any]) -> str:
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


def _kind(environment: object) -> EnvironmentKind:
    kind = environment.get("kind") if isinstance(environment, dict) else None
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind]
    return decode(Environment, environment, file="", key="environment", strict=False).kind


def _interpreter(told: object) -> tuple[str, ...]:
    """What counts of an interpreter; the codec, which is slower, is asked where something is wrong."""
    found = tuple(part for name in _PARTS if isinstance(part := told.get(name), str)) if isinstance(told, dict) else ()
    if len(found) == len(_PARTS):
        return found
    interpreter = decode(Interpreter, told, file="", key="interpreter", strict=False)
    return tuple(getattr(interpreter, name) for name in _PARTS)


@lru_cache(maxsize=_KEPT)
def _cpu(text: str) -> Cpu:
    """The processor without what differs among machines of one kind."""
    cpu = decode(Cpu, json_data(text), file="", key="cpu", strict=False)
    return replace(cpu, cores=1, quota=None)


@lru_cache(maxsize=_KEPT)
def _machine(cpu: str, interpreter: tuple[str, ...]) -> Machine:
    implementation, version, abi, platform, libc, libc_version = interpreter
    minor = _MINOR.match(version)
    if minor is None:
        raise DocumentError("", "interpreter.version", f"expected a version like 3.11.7, found {version!r}")
    return Machine(
        implementation=implementation,
        python=minor[0],
        abi=abi,
        architecture=platform.partition("-")[2],
        libc=libc,
        libc_version=libc_version,
        cpu=_cpu(cpu),
    )
