"""The members of an archive as its headers tell them, and which of them are refused.

The rules are the same for sdists and wheels, which need no links. Objections concern names, kinds and declared sizes
alone; whoever reads a member sees to it that its content is not longer than declared.

Sources: PEP 706 (tar filters), CVE-2007-4559, D. Fifield, "A better zip bomb" (WOOT 2019).
"""

import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path, PurePosixPath

from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable


class MemberKind(StrEnum):
    """What a member would become on disk; the words are those of messages."""

    FILE = "a file"
    DIRECTORY = "a directory"
    SYMBOLIC_LINK = "a symbolic link"
    HARD_LINK = "a hard link"
    SPECIAL = "neither a file, a directory nor a link"


@immutable
class ArchiveMember:
    """A member of an archive.

    Attributes:
        name: as the archive has it, with its slashes; a directory's may end with one.
        kind: what it would become.
        size: of its content, in bytes, as declared.
        mode: permissions with the bits for set-user-ID, set-group-ID and sticky.
        target: of a link; empty for all else.
    """

    name: str
    kind: MemberKind
    size: int
    mode: int = 0o644
    target: str = ""


@immutable
class Objection:
    """Why an archive is not unpacked.

    Attributes:
        reason: a sentence's end ("is a symbolic link to '/etc'").
        member: which one; empty for the archive as a whole.
    """

    reason: str
    member: str = ""


MOST_MEMBERS = 50_000
"""In one archive. Pillow 13.0.0's sdist has 1,782, a wheel of PyTorch 12,248."""

MOST_BYTES = 1 << 30
"""Of all members, unpacked. Pillow 13.0.0's sdist has 73 MB, its wheel 20 MB."""

MOST_BYTES_OF_ONE = 1 << 28
"""Of one member. The longest in Pillow's sdists has 10 MB."""

MOST_RATIO = 100
"""Unpacked to packed, of an archive that unpacks to more than `ALWAYS_BYTES`. dlib's sdist has 5.9, all others that
were looked at less; a single member may have 224 (a library that is padded with zeros), deflate's limit is 1032."""

ALWAYS_BYTES = 1 << 26
"""So much may come out of a small archive, whatever its ratio."""

LONGEST_NAME = 1024
"""Bytes in a name; the kernel takes 4096 with the directory that it is unpacked to."""

LONGEST_PART = 255
"""Bytes between two slashes. Source: NAME_MAX of Linux's file systems."""

_ODD = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories that a terminal or a listing would show as something else: control characters, separators."""


def explain_archive_objection(members: Iterable[ArchiveMember], archive_bytes: int) -> Objection | None:
    """Return the first reason against unpacking, or None.

    Args:
        members: in the archive's order; read only as far as nothing is wrong.
        archive_bytes: size of the archive itself.
    """
    names, total, count = _Names(), 0, 0
    for member in members:
        count, total = count + 1, total + member.size
        reason = _object_to_name(member.name) or _object_to_kind(member) or names.clash(member)
        if not reason and member.size > MOST_BYTES_OF_ONE:
            most = f"{MOST_BYTES_OF_ONE} is more than any file of a source or wheel needs"
            reason = f"declares {member.size} bytes; {most}"
        if reason:
            return Objection(member=member.name, reason=reason)
        if count > MOST_MEMBERS:
            return Objection(reason=f"has more than {MOST_MEMBERS} members")
        if total > min(MOST_BYTES, max(ALWAYS_BYTES, MOST_RATIO * archive_bytes)):
            found = f"expands to {total} bytes or more, from {archive_bytes}"
            return Objection(member=member.name, reason=f"{found}: it looks like a zip bomb")
    return None


def simplify_member_name(name: str) -> str:
    """Return a member's name without what says nothing.

    >>> simplify_member_name("./PIL/")
    'PIL'
    """
    return name.removeprefix("./").rstrip("/")


def _object_to_name(name: str) -> str:
    bare = simplify_member_name(name)
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        return "would be unpacked outside the directory"
    if any(unicodedata.category(letter) in _ODD for letter in name):
        return "has a control character in its name"
    if not bare or any(part in ("", ".") for part in bare.split("/")):
        return "has an empty part in its name"
    encoded = bare.encode("utf-8", "surrogatepass")
    if len(encoded) > LONGEST_NAME or any(len(part) > LONGEST_PART for part in encoded.split(b"/")):
        return "has a name that is too long"
    return ""


def _object_to_kind(member: ArchiveMember) -> str:
    if member.kind is MemberKind.FILE and member.mode & 0o7000:
        return f"has the mode {member.mode:04o}: it would run with its owner's rights, or stay forever"
    if member.kind in (MemberKind.FILE, MemberKind.DIRECTORY):
        return ""
    return f"is {member.kind}{f' to {member.target!r}' if member.target else ''}, where files are expected"


class _Names:
    """All names so far, and which of them are files."""

    def __init__(self) -> None:
        self._is_file: dict[str, bool] = {}

    def clash(self, member: ArchiveMember) -> str:
        """Return why this one cannot stand beside the others; empty if it can."""
        name, is_file = simplify_member_name(member.name), member.kind is not MemberKind.DIRECTORY
        if name in self._is_file and (is_file or self._is_file[name]):
            return "appears twice"
        parents = [str(each) for each in PurePosixPath(name).parents][:-1]
        below = next((parent for parent in parents if self._is_file.get(parent)), "")
        if below:
            return f"lies below {below!r}, which is a file"
        self._is_file.update({**dict.fromkeys(parents, False), name: is_file})
        return ""


class ArchiveError(FailedError):
    """An archive is damaged or hostile; nothing of it is left on disk.

    Args:
        file: the archive, which the message names.
        objection: what is wrong, and with which member.
    """

    tag = "Archive"

    def __init__(self, file: Path, objection: Objection) -> None:
        what = f"member {objection.member!r} {objection.reason}" if objection.member else objection.reason
        hint = f"nothing from it was used: remove it here and where it came from: rm {quote(file)}"
        super().__init__(f"{file}: damaged or hostile: {what}", hint=hint)
        self.objection = objection
