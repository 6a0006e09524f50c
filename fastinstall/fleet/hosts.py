"""Read the facts of many machines from a directory with one JSON document per machine.

Each document is the output of `inspect --json`. Documents are read one at a time, and only the members that matter for
wheels are decoded, as strictly as by the model's codec.

Whoever collects the documents can add two keys: "host", the machine's name, and "observed_at", the time of writing.
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
    """The file of one host's document, read but not parsed.

    Attributes:
        name: the host's name, taken from the file's name; the document itself may give another.
        file: path of the file, for messages.
        modified: modification time of the file, in seconds since the epoch.
        content: bytes of the file.
        problem: why the file could not be read; empty if it was read.
    """

    name: str
    file: str
    modified: float = 0.0
    content: bytes = b""
    problem: str = ""


def read_documents(place: Path, flag: str) -> Iterator[HostDocument]:
    """Yield every file of a directory except hidden ones; a file that cannot be read is yielded with its problem.

    Args:
        place: the directory.
        flag: the option that named the directory, for messages.

    Raises:
        UsageError: the directory is missing, is not a directory, or cannot be listed.
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
    """Return the members of a host's document, or None if it is fastinstall's own document about many hosts.

    Args:
        document: the file.
        parse: parses JSON; a ValueError or RecursionError means that the content is malformed.

    Raises:
        DocumentError: the file could not be read, is too large, or is not a JSON object.
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


def identify_host(fields: dict[str, Any], document: HostDocument) -> tuple[str, float]:
    """Return the host's name, and the time at which its document was written.

    The key "host" gives the name, by default the file's name. The key "observed_at" gives the time, in UTC if it has no
    zone; by default it is the file's modification time.

    Args:
        fields: members of the document.
        document: the file.

    Returns:
        The name, and seconds since the epoch.

    Raises:
        DocumentError: the name is not a string, or is blank; or the time is not in ISO 8601.
    """
    name, moment = fields.get("host", document.name), document.modified
    if not isinstance(name, str) or not name.strip():
        raise DocumentError(document.file, "host", "expected a name")
    if "observed_at" in fields:
        text = fields["observed_at"]
        try:
            written = datetime.fromisoformat(str(text))
        except ValueError:
            problem = f"expected a time like 2026-11-21T09:30:00Z, found {text!r}"
            raise DocumentError(document.file, "observed_at", problem) from None
        moment = (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp()
    return name, moment


def describe_problem(error: DocumentError) -> str:
    """Return the problem of a document, with the key that it concerns, but without the file's name."""
    return f"{error.key}: {error.problem}" if error.key else error.problem


@immutable
class MachineClass:
    """The properties of a host that decide which wheel it can take; equal hosts share one object.

    Attributes:
        implementation: implementation of Python: "cpython", "pypy".
        python: major and minor version of Python: "3.11".
        abi: the ABI tag of extension modules (PEP 425): "cp311".
        architecture: the machine that the interpreter was built for: "x86_64".
        libc: "glibc" or "musl"; empty if unknown.
        libc_version: "2.36"; empty if unknown.
        cpu: the processor; its `cores` and `quota` have fixed values, because wheels do not depend on them.
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
    """One host, as its `inspect --json` document describes it.

    Attributes:
        name: the key "host" of the document, else the file's name without its suffix.
        file: path of the document.
        seen: when the document was written, in seconds since the epoch.
        machine: the properties that decide which wheel the host can take.
        kind: the kind of the inspected environment.
        protected: why fastinstall must not change the environment; empty if it may.
    """

    name: str
    file: str
    seen: float
    machine: MachineClass
    kind: EnvironmentKind
    protected: str = ""


@immutable
class _Conda:
    """The fields of `model.conda.Conda` that are read here."""

    is_base: bool = False


@immutable
class _Facts:
    """The fields of `model.facts.Facts` that are read here, with the same names and types."""

    environment: Environment
    cpu: Cpu
    interpreter: Interpreter
    frozen: str | None = None
    conda: _Conda | None = None


def read_hosts(place: Path) -> tuple[list[FleetHost], list[ExcludedHost]]:
    """Read all facts files of a directory; return the hosts that they describe, and the hosts whose files are unusable.

    Args:
        place: a directory of `inspect --json` documents. fastinstall's own documents about many hosts are ignored.

    Raises:
        UsageError: the directory is missing, or cannot be listed.
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
            if host is not None:  # equal machines share one object, to save memory
                hosts.append(replace(host, machine=known.setdefault(host.machine, host.machine)))
    return hosts, unread


def read_host_facts(document: HostDocument) -> FleetHost | None:
    """Return the host that a facts file describes, or None if the file is about many hosts.

    Raises:
        DocumentError: the file is not a facts file, is damaged, or has another schema.
    """
    fields = parse_document(document, json.loads)  # four times as fast as our parser; `decode` checks the values
    if fields is None:
        return None
    if fields.get("schema") == _ERROR:
        raise DocumentError(document.file, "", f"inspect failed there: {fields.get('message')}")
    refuse_other_schema("facts", fields.get("schema"), file=document.file, version="")
    facts = decode(_Facts, fields, file=document.file, strict=False)
    name, seen = identify_host(fields, document)
    protected = ""
    if facts.frozen is not None:
        protected = f"the environment is frozen ({facts.frozen})"
    elif facts.conda is not None and facts.conda.is_base:
        protected = "the environment is conda's own (base)"
    return FleetHost(
        name=name,
        file=document.file,
        seen=seen,
        machine=_make_machine(facts, document.file),
        kind=facts.environment.kind,
        protected=protected,
    )


def _make_machine(facts: _Facts, file: str) -> MachineClass:
    """Return the properties that decide which wheel a host can take, without the CPU's cores and quota."""
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
