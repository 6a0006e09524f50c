"""Read files that describe the processors of other machines, on which a build is intended to run."""

import re
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.architecture import ARCHITECTURES, SUPPORTED
from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Cpu, Host, level_of
from fastinstall.observe.cpu import parse_cpuinfo

_SCHEMA = "fastinstall.facts/1"


@immutable
class _Facts:
    """The part of a `model.facts.Facts` document that this module reads."""

    cpu: Cpu


_FLAG = re.compile(r"[a-z0-9][a-z0-9_]*")


_CPUINFO = re.compile(r"^(?:flags|Features|processor)\s*:", re.MULTILINE)


_FEATURES = re.compile(r"(?:flags|Features)\s*:")


_LARGEST = 1 << 24


_HINT = (
    "pass the output of `fastinstall inspect --json` from that host, a copy of its /proc/cpuinfo, "
    "or a list of its flags: `ssh HOST cat /proc/cpuinfo > HOST.txt`"
)


def read_host(path: Path) -> Host:
    """Read the description of a machine; the machine is named after the file.

    The file has one of three forms: a document of `fastinstall inspect --json`, redacted or not; a copy of
    /proc/cpuinfo; or a list of kernel flag names separated by white space, with comments after `#`.

    Raises:
        DocumentError: the file is none of these, is incomplete, or cannot be read.
    """
    try:
        text = foreign.read_text(path, limit=_LARGEST)
        if text.lstrip().startswith("{"):
            cpu = _read_facts(path, text)
        else:
            cpu = _read_cpuinfo(path, text) if _CPUINFO.search(text) else _read_flags(path, text)
    except DocumentError as error:
        raise error.hinting(_HINT) from None
    except OSError as error:
        raise DocumentError(path, "", f"cannot be read: {error.strerror or error}", hint=_HINT) from None
    except UnicodeDecodeError:
        raise DocumentError(path, "", "is not text", hint=_HINT) from None
    return Host(name=path.stem or path.name, cpu=cpu)


def _read_facts(path: Path, text: str) -> Cpu:
    try:
        data = json_data(text)
    except ValueError as error:
        raise DocumentError(path, "", f"is not JSON: {error}") from None
    if data.get("schema") != _SCHEMA:
        raise DocumentError(path, "schema", f"expected {_SCHEMA!r}, found {data.get('schema')!r}")
    return decode(_Facts, data, file=path, strict=False).cpu


def _read_cpuinfo(path: Path, text: str) -> Cpu:
    if _is_cut(text):
        raise DocumentError(path, "flags", "the file ends in the middle of the list: copy it again")
    cpu = parse_cpuinfo(text)
    if not cpu.flags:
        raise DocumentError(path, "flags", "missing: no line lists the processor's features")
    return cpu


def _is_cut(text: str) -> bool:
    """Return whether a copy of /proc/cpuinfo ends within a processor's list of features.

    A complete list ends with a line break. It is followed by further lines about the same processor, or by an empty
    line. Only in an excerpt without lines "processor" may a complete list be the last line.
    """
    last = re.split(r"\n\s*\n", text)[-1]
    lines = last.splitlines()
    if not lines or not _FEATURES.match(lines[-1]):
        return False
    return not last.endswith("\n") or any(line.startswith("processor") for line in lines)


def _read_flags(path: Path, text: str) -> Cpu:
    if not text.endswith("\n") and text.strip():
        raise DocumentError(path, "", "its last line has no line break: add one if no flag is missing")
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
    wrong = next((word for word in words if not _FLAG.fullmatch(word)), None)
    if wrong is not None:
        raise DocumentError(path, "", f"{wrong[:40]!r} is not a processor flag")
    known = {each: {flag for level in each.levels for flag in level.requires} for each in ARCHITECTURES}
    architecture = next((each for each, features in known.items() if not features.isdisjoint(words)), None)
    if architecture is None:
        raise DocumentError(path, "", f"has no flag of a level of {SUPPORTED}")
    flags = tuple(dict.fromkeys((*architecture.levels[0].requires, *words)))
    level = level_of(flags, architecture)
    return Cpu(architecture=architecture.machine, flags=flags, level=level, level_source=path.name)
