"""Check requirement and lock files on disk: would installing from them bring stock Pillow back? Changes nothing.

The check reads the named files, the files that they include, and the local directories that they search for wheels.
Entries with the comment "fastinstall: stock" are accepted. The check uses no environment and no network.
"""

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.lockcheck import verdict
from fastinstall.lockcheck.lock_files import read_lock
from fastinstall.lockcheck.lock_names import EXPORT, KNOWN, LockKind, archive, bears_our_label, lock_kind_of
from fastinstall.lockcheck.requirement_files import RequirementsFile, is_afar
from fastinstall.model.finding import Status


def check_locks(files: Sequence[Path], *, machine: str = "") -> verdict.LockReport:
    """Check whether installing from files would bring stock Pillow back.

    Args:
        files: the files; their names determine their formats (see `lock_kind_of`).
        machine: the architecture to install on, as the kernel names it; empty for this machine's.

    Returns:
        The findings in the files and in those that they include, each once.

    Raises:
        UsageError: a file has an unsupported name, or cannot be read.
        DocumentError: a file is malformed; the message says where.
    """
    named = []
    found: dict[tuple[str, int, str], verdict.LockFinding] = {}
    for file in files:
        text = _read_text(file)
        kind = lock_kind_of(file.absolute())
        if kind is None:
            raise UsageError(f"{file}: not a supported requirement or lock file", hint=f"known are {KNOWN}; {EXPORT}")
        named.append(verdict.LockedFile(file=file, kind=kind))
        for finding in _check_file(kind, file, text, machine or os.uname().machine):
            found.setdefault((str(finding.file), finding.line, finding.excerpt), finding)
    status = max((finding.status for finding in found.values()), key=lambda each: each.gravity, default=Status.OK)
    return verdict.LockReport(status=status, files=tuple(named), findings=tuple(found.values()))


def _check_file(kind: LockKind, file: Path, text: str, machine: str) -> Iterator[verdict.LockFinding]:
    read = list(_read_tree(kind, file, text))
    links = [(its_file, link) for its_file, _, said in read for link in said.links]
    entries = [entry for *_, said in read for entry in said.entries if entry.machine in ("", machine)]
    around = verdict.VerdictContext(
        kind=kind,
        machine=machine,
        wheels=tuple(_list_wheels(links, hashing=any(entry.hashes for entry in entries))),
        looks=bool(links),
        held=verdict.list_held_versions(entries),
    )
    for its_file, its_text, said in read:
        unaccepted = _list_unaccepted(said.entries, its_text)
        yield from filter(None, (verdict.judge_entry(entry, its_file, around) for entry in unaccepted))
        yield from said.findings


def _read_tree(kind: LockKind, file: Path, text: str) -> Iterator[tuple[Path, str, RequirementsFile]]:
    """Yield a file and all files that it includes, each once, as path, text and content."""
    pending, seen = [(kind, file, text)], {file.absolute()}
    while pending:
        its_kind, its_file, its_text = pending.pop(0)
        said = read_lock(its_kind, its_text, its_file)
        yield its_file, its_text, said
        for line, place in said.includes:
            other = its_file.parent / place
            if other.absolute() in seen:
                continue
            seen.add(other.absolute())
            try:
                pending.append((LockKind.REQUIREMENTS, other, _read_text(other)))
            except UsageError as error:
                raise DocumentError(its_file, f"line {line}", f"includes {error.message}") from None


def _read_text(file: Path) -> str:
    try:
        content = foreign.read_bytes(file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", hint="pass files that exist") from None
    # PowerShell writes UTF-16 with a byte order mark; pip can read it.
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError(file, f"byte {error.start}", "not UTF-8 text") from None


def _list_wheels(links: Iterable[tuple[Path, str]], *, hashing: bool) -> Iterator[verdict.OurWheel]:
    """Yield fastinstall's wheels in local directories, with their hashes if `hashing` is true.

    Like pip, first try the path of a directory relative to the file that names it.
    """
    from fastinstall.core.files import sha256  # needed only if a file names directories

    for file, link in links:
        place = link.removeprefix("file://")
        if is_afar(place):
            continue
        beside = file.parent / place
        for wheel in sorted((beside if beside.is_dir() else Path(place)).glob("*.whl")):
            name, version = archive(wheel.name)
            if bears_our_label(version):
                yield verdict.OurWheel(name=name, version=version, hash=f"sha256:{sha256(wheel)}" if hashing else "")


_COMMENT = re.compile(r"(?P<before>.*?)(?:^|\s)#\s*fastinstall:\s*stock\b")


def _list_unaccepted(entries: Iterable[verdict.LockEntry], text: str) -> Iterator[verdict.LockEntry]:
    """Yield the entries that no comment accepts.

    A comment accepts an entry if it is on one of the entry's lines, or alone on the line before the entry.
    """
    comments = {
        number: each for number, line in enumerate(text.splitlines(), start=1) if (each := _COMMENT.match(line))
    }
    for entry in entries:
        first, last = entry.first or entry.line, entry.last or entry.line
        before = comments.get(first - 1)
        alone = before is not None and not before["before"].strip()
        if not alone and comments.keys().isdisjoint(range(first, last + 1)):
            yield entry
