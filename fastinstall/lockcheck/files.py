"""Judge requirement and lock files: would an installation from them bring stock Pillow back? Changes nothing.

It reads the named files, what they include, and the directories that they search for wheels, and heeds the comment by
which a file accepts stock Pillow. No environment is looked at, and no network used.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.core.values import immutable
from fastinstall.lockcheck.lock_files import read_lock
from fastinstall.lockcheck.requirement_files import Include, Refused, RequirementsFile
from fastinstall.lockcheck.verdict import (
    KNOWN,
    LockedFile,
    LockEntry,
    LockFinding,
    LockKind,
    LockReport,
    OurWheel,
    VerdictContext,
    archive,
    findings_of,
    is_ours,
    kind_of,
    list_held_versions,
)
from fastinstall.model.finding import Remedy, Status


@immutable
class _Read:
    """A file that was read, as part of one that was named."""

    file: Path
    text: str
    said: RequirementsFile


def check_locks(files: Sequence[Path]) -> LockReport:
    """Judge files.

    Args:
        files: each of a kind that its name tells (below).

    Returns:
        Findings of the files and of those that they include, each once.

    Raises:
        UsageError: a file of none of these kinds, or one that cannot be read.
        DocumentError: a malformed one; the place is named.
    """
    named = []
    found: dict[tuple[Path, int, str], LockFinding] = {}
    for file in files:
        text = _read_text(file)
        kind = kind_of(file.absolute(), text)
        if kind is None:
            raise UsageError(f"{file}: no requirement or lock file that can be judged", hint=f"known are {KNOWN}")
        named.append(LockedFile(file=file, kind=kind))
        for finding in _check_file(kind, file, text):
            found.setdefault((Path(finding.file), finding.line, finding.says), finding)
    statuses = [finding.status for finding in found.values()]
    status = max(statuses, key=lambda each: each.gravity, default=Status.OK)
    return LockReport(status=status, files=tuple(named), findings=tuple(found.values()))


def _check_file(kind: LockKind, file: Path, text: str) -> Iterator[LockFinding]:
    read = list(_read_tree(kind, file, text))
    links = [(each.file, link) for each in read for link in each.said.links]
    entries = [entry for each in read for entry in each.said.entries]
    around = VerdictContext(
        kind=kind,
        wheels=tuple(_list_wheels(links, hashing=any(entry.hashes for entry in entries))),
        looks=bool(links),
        held=list_held_versions(entries),
    )
    for each in read:
        yield from findings_of(each.file, each.said.entries, make_acceptance_test(each.text), around)
        yield from (_report_unreadable(each.file, refused) for refused in each.said.refused)
        yield from (_report_unseen(each.file, include) for include in each.said.includes if _is_afar(include.place))


def _read_tree(kind: LockKind, file: Path, text: str) -> Iterator[_Read]:
    """A file and, in its order, those that it includes, each once."""
    pending, seen = [(kind, file, text)], {file.absolute()}
    while pending:
        its_kind, its_file, its_text = pending.pop(0)
        said = read_lock(its_kind, its_text, its_file)
        yield _Read(file=its_file, text=its_text, said=said)
        for include in said.includes:
            other = its_file.parent / include.place
            if not _is_afar(include.place) and other.absolute() not in seen:
                seen.add(other.absolute())
                pending.append((LockKind.REQUIREMENTS, other, _resolve_include(its_file, include, other)))


def _resolve_include(file: Path, include: Include, other: Path) -> str:
    try:
        return _read_text(other)
    except UsageError as error:
        raise DocumentError(file, f"line {include.line}", f"includes {error.message}") from None


def _read_text(file: Path) -> str:
    try:
        content = foreign.read_bytes(file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", hint="name files that are there") from None
    # What PowerShell writes has such a mark; pip reads it, too.
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError(file, f"byte {error.start}", "no text in UTF-8") from None


def _is_afar(place: str) -> bool:
    return "://" in place or "${" in place


def _report_unreadable(file: Path, refused: Refused) -> LockFinding:
    return LockFinding(
        file=file,
        line=refused.line,
        says=refused.says,
        status=Status.ERROR,
        message=f"pip refuses the whole file for this line: {refused.problem}",
        remedy=Remedy(text="write NAME, NAME==VERSION or NAME @ URL there, or leave the line out"),
    )


def _report_unseen(file: Path, include: Include) -> LockFinding:
    return LockFinding(
        file=file,
        line=include.line,
        says=include.place,
        status=Status.HINT,
        message="what it includes from there was not looked at",
        remedy=Remedy(text="check a copy of it, too"),
    )


def _list_wheels(links: Iterable[tuple[Path, str]], *, hashing: bool) -> Iterator[OurWheel]:
    """The wheels of ours in local directories; as with pip, a path is tried beside the file that names it first."""
    for file, link in links:
        place = link.removeprefix("file://")
        if _is_afar(place):
            continue
        beside = file.parent / place
        directory = beside if beside.is_dir() else Path(place)
        for wheel in sorted(directory.glob("*.whl")):
            name, version = archive(wheel.name)
            if is_ours(version):
                yield OurWheel(name=name, version=version, hash=_hash(wheel) if hashing else "")


def _hash(wheel: Path) -> str:
    from fastinstall.core.files import sha256  # noqa: PLC0415 (only where a file has hashes)

    return f"sha256:{sha256(wheel)}"


_COMMENT = re.compile(r"(?P<before>.*?)(?:^|\s)#\s*fastinstall:\s*stock\b")


def make_acceptance_test(text: str) -> Callable[[LockEntry], bool]:
    """Whether a comment accepts an entry: on one of its lines, or alone on the line before.

    Args:
        text: of the file.
    """
    found = {number: each for number, line in enumerate(text.splitlines(), start=1) if (each := _COMMENT.match(line))}

    def accepted(entry: LockEntry) -> bool:
        alone = entry.first - 1 in found and not found[entry.first - 1]["before"].strip()
        return alone or any(number in found for number in range(entry.first, entry.last + 1))

    return accepted
