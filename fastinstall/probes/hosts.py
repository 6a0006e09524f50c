"""Other machines that a build is judged for, each from a file that describes its processor."""

import re
from pathlib import Path

from fastinstall.errors import DocumentError
from fastinstall.model.codec import decode
from fastinstall.model.cpu import Cpu
from fastinstall.model.isa import Host
from fastinstall.model.parsing import json_data
from fastinstall.probes.cpu import parse_cpuinfo
from fastinstall.rules.levels import LEVELS, level_of
from fastinstall.system import foreign

_SCHEMA = "fastinstall.facts/1"
_FLAG = re.compile(r"[a-z0-9][a-z0-9_]*")
_CPUINFO = re.compile(r"^(?:flags|Features|processor)\s*:", re.MULTILINE)
_FEATURES = re.compile(r"(?:flags|Features)\s*:")
_LARGEST = 1 << 24
_HINT = (
    "give what `fastinstall inspect --json` printed on that host, a copy of its /proc/cpuinfo, "
    "or a list of its flags: `ssh HOST cat /proc/cpuinfo > HOST.txt`"
)


def read_host(path: Path) -> Host:
    """Read a machine's description; it is named after the file.

    The file is a document of `fastinstall inspect --json`, redacted or not, a copy of /proc/cpuinfo, or a list of
    flags as the kernel names them, separated by white space; there, `#` begins a comment.

    Raises:
        DocumentError: it is none of these, is cut off, or cannot be read.
    """
    text = _text(path)
    if text.lstrip().startswith("{"):
        cpu = _from_facts(path, text)
    elif _CPUINFO.search(text):
        cpu = _from_cpuinfo(path, text)
    else:
        cpu = _from_flags(path, text)
    return Host(name=path.stem or path.name, cpu=cpu)


def _text(path: Path) -> str:
    try:
        return foreign.read_text(path, limit=_LARGEST)
    except OSError as error:
        raise DocumentError(path, "", f"cannot be read: {error.strerror or error}", hint=_HINT) from None
    except UnicodeDecodeError:
        raise DocumentError(path, "", "is no text", hint=_HINT) from None


def _from_facts(path: Path, text: str) -> Cpu:
    try:
        data = json_data(text)
    except ValueError as error:
        raise DocumentError(path, "", f"is no JSON: {error}", hint=_HINT) from None
    if data.get("schema") != _SCHEMA:
        raise DocumentError(path, "schema", f"expected {_SCHEMA!r}, found {data.get('schema')!r}", hint=_HINT)
    if "cpu" not in data:
        raise DocumentError(path, "cpu", "missing", hint=_HINT)
    try:
        return decode(Cpu, data["cpu"], file=path, key="cpu")
    except DocumentError as error:
        raise error.hinting(_HINT) from None


def _from_cpuinfo(path: Path, text: str) -> Cpu:
    if _is_cut(text):
        raise DocumentError(path, "flags", "the file ends in the middle of them: a copy that was cut off", hint=_HINT)
    cpu = parse_cpuinfo(text)
    if not cpu.flags:
        raise DocumentError(path, "flags", "missing: no line of it names the processor's features", hint=_HINT)
    return cpu


def _is_cut(text: str) -> bool:
    """Whether a copy of /proc/cpuinfo ends with features that may be some of several.

    Their line has an end. Further lines of the same processor follow it, or an empty one; where all that somebody has
    kept are these lines, which begin with no number of a processor, nothing follows.
    """
    last = re.split(r"\n\s*\n", text)[-1]
    lines = last.splitlines()
    if not lines or not _FEATURES.match(lines[-1]):
        return False
    return not last.endswith("\n") or any(line.startswith("processor") for line in lines)


def _from_flags(path: Path, text: str) -> Cpu:
    if not text.endswith("\n") and text.strip():
        raise DocumentError(path, "", "its last line has no end: end it, if no flag is missing there", hint=_HINT)
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
    wrong = next((word for word in words if not _FLAG.fullmatch(word)), None)
    if wrong is not None:
        raise DocumentError(path, "", f"{wrong[:40]!r} is no flag of a processor", hint=_HINT)
    known = {flag for flags in LEVELS.values() for flag in flags}
    if known.isdisjoint(words):
        raise DocumentError(path, "", "holds no flag that a level of x86-64 knows", hint=_HINT)
    flags = tuple(dict.fromkeys((*LEVELS["x86-64-v1"], *words)))
    return Cpu(architecture="x86_64", flags=flags, level=level_of(flags), level_source=path.name)
