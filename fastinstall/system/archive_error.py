"""How an archive that is not unpacked is told."""

from pathlib import Path

from fastinstall.errors import FailedError
from fastinstall.model.archive import Objection
from fastinstall.rules.messages import quote


class ArchiveError(FailedError):
    """An archive is damaged or hostile; nothing of it is left on disk.

    Args:
        file: the archive.
        objection: what is wrong, and with which member.
    """

    tag = "Archive"

    def __init__(self, file: Path, objection: Objection) -> None:
        what = f"member {objection.member!r} {objection.reason}" if objection.member else objection.reason
        hint = f"nothing of it was used: remove it, here and where it was copied from: rm {quote(file)}"
        super().__init__(f"{file}: damaged or hostile: {what}", hint=hint)
        self.objection = objection


class MalformedError(Exception):
    """An archive that is cut off, or that readers would not agree about.

    Args:
        reason: the end of a sentence.
        member: which member, where one is to blame.
    """

    def __init__(self, reason: str, member: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.member = member
