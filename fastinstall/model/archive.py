"""What is in an archive, member by member, as its own headers tell it."""

from enum import StrEnum

from fastinstall.model.immutable import immutable


class MemberKind(StrEnum):
    """What a member would become on disk; the words are those of messages."""

    FILE = "a file"
    DIRECTORY = "a directory"
    SYMBOLIC_LINK = "a symbolic link"
    HARD_LINK = "a hard link"
    DEVICE = "a device"
    PIPE = "a pipe"
    SOCKET = "a socket"
    SPARSE = "a sparse file"
    UNKNOWN = "of an unknown kind"


@immutable
class Member:
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
