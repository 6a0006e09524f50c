"""Which members of an archive are never unpacked: the same for sdists and wheels, which need no links.

A verdict on names, kinds and declared sizes alone. That the content is not longer than declared is seen to by
what reads it. Sources: PEP 706 (tar filters), CVE-2007-4559, D. Fifield, "A better zip bomb" (WOOT 2019).
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from fastinstall.model.archive import Member, MemberKind, Objection

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

_DRIVE = re.compile(r"[A-Za-z]:")
_ODD = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories that a terminal or a listing would show as something else: control characters, separators."""


def objection_to(members: Iterable[Member], archive_bytes: int) -> Objection | None:
    """The first reason against unpacking, or None.

    Args:
        members: in the archive's order; read only as far as nothing is wrong.
        archive_bytes: size of the archive itself.
    """
    names, total, count = _Names(), 0, 0
    for member in members:
        count, total = count + 1, total + member.size
        reason = _of_name(member.name) or _of_kind(member) or names.clash(member) or _of_size(member)
        if reason:
            return Objection(member=member.name, reason=reason)
        if count > MOST_MEMBERS:
            return Objection(reason=f"has more than {MOST_MEMBERS} members")
        if total > _allowed(archive_bytes):
            return Objection(member=member.name, reason=_bomb(total, archive_bytes))
    return None


def plain(name: str) -> str:
    """A member's name without what says nothing: "./" before it and "/" behind it."""
    return name.removeprefix("./").rstrip("/")


def _allowed(archive_bytes: int) -> int:
    return min(MOST_BYTES, max(ALWAYS_BYTES, MOST_RATIO * archive_bytes))


def _bomb(total: int, archive_bytes: int) -> str:
    return f"brings what comes out to {total} bytes and more, out of {archive_bytes}: this is how a zip bomb looks"


def _of_name(name: str) -> str:
    bare = plain(name)
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        return "would leave the directory that it is unpacked to"
    if "\\" in name or _DRIVE.match(name):
        return "has a name of Windows, which leads elsewhere there"
    if any(unicodedata.category(letter) in _ODD for letter in name):
        return "has a control character in its name"
    if not bare or any(part in ("", ".") for part in bare.split("/")):
        return "has an empty part in its name"
    encoded = bare.encode("utf-8", "surrogatepass")
    if len(encoded) > LONGEST_NAME or any(len(part) > LONGEST_PART for part in encoded.split(b"/")):
        return "has a name that is too long for a file"
    return ""


def _of_kind(member: Member) -> str:
    if member.kind is MemberKind.FILE and member.mode & 0o7000:
        return f"has the mode {member.mode:04o}: it would run with its owner's rights, or stay for good"
    if member.kind in (MemberKind.FILE, MemberKind.DIRECTORY):
        return ""
    return f"is {member.kind}{f' to {member.target!r}' if member.target else ''}, where files are expected"


def _of_size(member: Member) -> str:
    if member.size > MOST_BYTES_OF_ONE:
        return f"declares {member.size} bytes; {MOST_BYTES_OF_ONE} are more than any source or wheel needs in one file"
    return ""


class _Names:
    """All names so far, with their parents, as a file system without case or with other Unicode forms has them."""

    def __init__(self) -> None:
        self._spelled: dict[str, str] = {}
        self._files: set[str] = set()

    def clash(self, member: Member) -> str:
        """Why this one cannot stand beside the others; empty if it can."""
        name = plain(member.name)
        is_file = member.kind is not MemberKind.DIRECTORY
        if name in self._files or (is_file and self._spelled.get(_folded(name)) == name):
            return "is there twice"
        parents = [str(each) for each in PurePosixPath(name).parents][:-1]
        below = next((parent for parent in parents if parent in self._files), "")
        if below:
            return f"lies below {below!r}, which is a file"
        return self._note(name, parents, is_file=is_file)

    def _note(self, name: str, parents: list[str], *, is_file: bool) -> str:
        for path in (*reversed(parents), name):
            other = self._spelled.setdefault(_folded(path), path)
            if other != path:
                return f"and {other!r} are one name to many file systems"
        if is_file:
            self._files.add(name)
        return ""


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
