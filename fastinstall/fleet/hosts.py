"""Read the facts of many machines: a directory with one JSON document for each.

Reads one document at a time, and decodes only the members of `inspect --json` that matter for wheels, as strictly as
the model's codec.

Two keys can be added when collecting: "host", its name, and "observed_at", when it was written.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.core.foreign import DOCUMENT, open_foreign_file
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu
from fastinstall.fleet.fleet import Cause, ExcludedHost
from fastinstall.model.facts import Environment, EnvironmentKind, Interpreter
from fastinstall.model.stored_documents import refuse_other_schema

_ERROR = "fastinstall.error/1"
_OF_MANY = ("fastinstall.fleet/", "fastinstall.collected/")
_HINT = "write it again on that host: fastinstall inspect --json > HOST.json"


@immutable
class HostDocument:
    """One document, as it was found.

    Attributes:
        name: of the host, by the file's name; the document itself may give another.
        file: for messages.
        modified: the file's time, in seconds since the epoch.
        content: the bytes of the document, not parsed yet.
        problem: why there is no content; empty if there is.
    """

    name: str
    file: str
    modified: float = 0.0
    content: bytes = b""
    problem: str = ""


def read_documents(place: Path, flag: str) -> Iterator[HostDocument]:
    """Yield the documents in a directory, hidden files apart, also those that cannot be read.

    Args:
        place: the directory.
        flag: that named it, for messages.

    Raises:
        UsageError: it is no directory, or cannot be listed.
    """
    try:
        files = sorted(file for file in place.iterdir() if not file.name.startswith(".") and not file.is_dir())
    except OSError as error:
        raise UsageError(f"{flag} {place}: {error.strerror or error}", hint=f"ls -ld {quote(place)}") from None
    for file in files:
        name = file.stem if file.suffix == ".json" else file.name
        try:
            with open_foreign_file(file) as stream:
                modified, content = os.fstat(stream.fileno()).st_mtime, stream.read(DOCUMENT + 1)
        except OSError as error:
            yield HostDocument(name=name, file=str(file), problem=f"cannot be read: {error.strerror or error}")
        else:
            yield HostDocument(name=name, file=str(file), modified=modified, content=content)


def parse_document(document: HostDocument, parse: Callable[[bytes], Any]) -> dict[str, Any] | None:
    """Return the members of a document, or None if it is one of ours about many hosts.

    Raises:
        DocumentError: it is invalid or damaged.
    """
    if document.problem:
        raise DocumentError(document.file, "", document.problem)
    if len(document.content) > DOCUMENT:
        raise DocumentError(document.file, "", f"larger than {DOCUMENT >> 20} MiB: not the document of one host")
    try:
        fields = parse(document.content)
    except (ValueError, RecursionError) as error:
        problem = f"is not JSON: {error}" if document.content.strip() else "is empty"
        raise DocumentError(document.file, "", problem) from None
    if not isinstance(fields, dict):
        raise DocumentError(document.file, "", "expected a table of keys at the top")
    return None if str(fields.get("schema")).startswith(_OF_MANY) else fields


def name_in(fields: dict[str, Any], document: HostDocument) -> str:
    """Return the host of a document: its key "host", else the file's name.

    Raises:
        DocumentError: the key holds no name.
    """
    name = fields.get("host", document.name)
    if not isinstance(name, str) or not name.strip():
        raise DocumentError(document.file, "host", "expected a name")
    return name


def moment_in(fields: dict[str, Any], document: HostDocument) -> float:
    """Return when a document was written, in seconds since the epoch: its key "observed_at", else the file's time.

    Raises:
        DocumentError: the key holds no time.
    """
    if "observed_at" not in fields:
        return document.modified
    text = fields["observed_at"]
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        problem = f"expected a time like 2026-11-21T09:30:00Z, found {text!r}"
        raise DocumentError(document.file, "observed_at", problem) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def describe_problem(error: DocumentError) -> str:
    """Return what is wrong with a document, without its file's name."""
    return f"{error.key}: {error.problem}" if error.key else error.problem


@immutable
class MachineClass:
    """What decides which wheel a host can take; hosts that are alike share one.

    Attributes:
        implementation: of Python: "cpython", "pypy".
        python: major and minor version: "3.11".
        abi: the ABI tag of extension modules (PEP 425): "cp311".
        architecture: that the interpreter was built for: "x86_64".
        libc: "glibc" or "musl"; empty if unknown.
        libc_version: "2.36"; empty if unknown.
        cpu: the processor, without what does not matter here (cores, quota).
    """

    implementation: str
    python: str
    abi: str
    architecture: str
    libc: str
    libc_version: str
    cpu: Cpu


@immutable
class FleetHost:
    """One host, by its document of `inspect --json`.

    Attributes:
        name: the key "host" of the document, else the file's name without its suffix.
        file: its document.
        seen: when it was written, in seconds since the epoch: its key "observed_at", else the file's time.
        machine: what decides which wheel it can take.
        kind: of the environment that was inspected.
        protected: why the environment is never changed; empty if it may be.
    """

    name: str
    file: str
    seen: float
    machine: MachineClass
    kind: EnvironmentKind
    protected: str = ""


@immutable
class _Conda:
    """What counts of `model.conda.Conda`."""

    is_base: bool = False


@immutable
class _Facts:
    """What counts of `model.facts.Facts`, field by field as there."""

    environment: Environment
    cpu: Cpu
    interpreter: Interpreter
    frozen: str | None = None
    conda: _Conda | None = None


def read_hosts(place: Path) -> tuple[list[FleetHost], list[ExcludedHost]]:
    """Read the hosts of facts files, and those whose documents cannot be read.

    Args:
        place: a directory of documents of `inspect --json`. Documents of ours about many hosts are passed over.

    Raises:
        UsageError: it is not there, or cannot be listed.
    """
    hosts: list[FleetHost] = []
    unread: list[ExcludedHost] = []
    known: dict[MachineClass, MachineClass] = {}
    for document in read_documents(place, "--hosts"):
        try:
            host = read_host_facts(document)
        except DocumentError as error:
            unread.append(
                ExcludedHost(
                    host=document.name,
                    cause=Cause.UNREADABLE,
                    reason=describe_problem(error),
                    hint=error.hint or _HINT,
                    file=document.file,
                )
            )
        else:
            if host is not None:  # hosts that are alike share one value in memory
                hosts.append(replace(host, machine=known.setdefault(host.machine, host.machine)))
    return hosts, unread


def read_host_facts(document: HostDocument) -> FleetHost | None:
    """Read what counts from one document, or return None if it covers many hosts.

    Raises:
        DocumentError: it is none, is damaged, or of another schema.
    """
    fields = parse_document(document, json.loads)  # a quarter of the time of ours; what counts is decoded
    if fields is None:
        return None
    if fields.get("schema") == _ERROR:
        raise DocumentError(document.file, "", f"inspect failed there: {fields.get('message')}")
    refuse_other_schema("facts", fields.get("schema"), file=document.file, version="")
    facts = decode(_Facts, fields, file=document.file, strict=False)
    return FleetHost(
        name=name_in(fields, document),
        file=document.file,
        seen=moment_in(fields, document),
        machine=_make_machine(facts, document.file),
        kind=facts.environment.kind,
        protected=_describe_protection(facts),
    )


def _describe_protection(facts: _Facts) -> str:
    if facts.frozen is not None:
        return f"the environment is frozen ({facts.frozen})"
    if facts.conda is not None and facts.conda.is_base:
        return "the environment is conda's own (base)"
    return ""


def _make_machine(facts: _Facts, file: str) -> MachineClass:
    """Return what decides which wheel a host can take, without what differs among machines of one kind."""
    interpreter = facts.interpreter
    minor = re.match(r"\d+\.\d+", interpreter.version)
    if minor is None:
        raise DocumentError(file, "interpreter.version", f"expected a version, found {interpreter.version!r}")
    return MachineClass(
        implementation=interpreter.implementation,
        python=minor[0],
        abi=interpreter.abi,
        architecture=interpreter.machine,
        libc=interpreter.libc,
        libc_version=interpreter.libc_version,
        cpu=replace(facts.cpu, cores=1, quota=None),
    )
