"""Whether files are as a conda package left them: by size, by hash, and where symbolic links lead."""

import hashlib
import os
import stat
from dataclasses import field
from enum import StrEnum

from fastinstall.model.immutable import immutable
from fastinstall.probes.conda_entries import Entry
from fastinstall.system import foreign

_SMALL = 1 << 20
_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of no bytes: of a link to nowhere


class State(StrEnum):
    """What became of a file."""

    UNCHANGED = "unchanged"
    MISSING = "missing"
    ALTERED = "altered"


@immutable
class Contents:
    """The files of an environment; each is read once, however many packages claim it.

    Attributes:
        prefix: of the environment.
        digests: what was read.
    """

    prefix: str
    digests: dict[str, str] = field(default_factory=dict)

    def state(self, entry: Entry, own: frozenset[str], *, since: int | None = None) -> State:
        """What became of a file that a package claims.

        Args:
            entry: the file.
            own: all files that the package claims.
            since: where given, a file of the recorded size that has not changed since, by its times of modification
                and of change of status, in nanoseconds since the epoch, counts as unchanged.
        """
        try:
            status = os.lstat(f"{self.prefix}/{entry.path}")
        except (OSError, ValueError):
            return State.MISSING
        try:
            unchanged = _is_older(status, entry, since) or self._is_as_recorded(entry, entry.path, own)
        except (OSError, ValueError):
            return State.ALTERED
        return State.UNCHANGED if unchanged else State.ALTERED

    def has(self, entry: Entry, own: frozenset[str]) -> bool:
        """Whether what lies where a package wants its file is that file."""
        try:
            return self._is_as_recorded(entry, entry.wanted, own)
        except (OSError, ValueError):
            return False

    def _is_as_recorded(self, entry: Entry, path: str, own: frozenset[str]) -> bool:
        """Compare a file, wherever it lies, with what is recorded of it; OSError where it cannot be read."""
        place = f"{self.prefix}/{path}"
        if entry.link and os.path.islink(place):  # noqa: PTH114 (a hundred paths are not worth as many objects)
            return self._leads_right(entry, path, own)
        status = os.stat(place)  # noqa: PTH116 (likewise)
        if not stat.S_ISREG(status.st_mode) or entry.size not in (None, status.st_size):
            return False
        return self._digest(path) == entry.sha256 if entry.sha256 else not entry.link

    def _leads_right(self, entry: Entry, path: str, own: frozenset[str]) -> bool:
        """Whether a symbolic link is the package's: by its text, by where it leads, by what is found there."""
        target = os.readlink(f"{self.prefix}/{path}")  # noqa: PTH115 (likewise)
        if entry.link_sha256:
            return hashlib.sha256(os.fsencode(target)).hexdigest() == entry.link_sha256
        if os.path.normpath(f"./{path.rpartition('/')[0]}/{target}") in own:
            return True
        if entry.sha256 in ("", _NOTHING):
            return not any(each.startswith(f"{path}.") for each in own)
        return self._digest(path) == entry.sha256

    def _digest(self, path: str) -> str:
        if path not in self.digests:
            self.digests[path] = _sha256(f"{self.prefix}/{path}")
        return self.digests[path]


def _is_older(status: os.stat_result, entry: Entry, since: int | None) -> bool:
    if since is None or not stat.S_ISREG(status.st_mode) or entry.link or entry.size not in (None, status.st_size):
        return False
    return max(status.st_mtime_ns, status.st_ctime_ns) <= since


def _sha256(path: str) -> str:
    """A small file is hashed in one piece, which takes half the time; a large one never lies in memory whole."""
    with foreign.opened(path) as stream:
        if os.fstat(stream.fileno()).st_size > _SMALL:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        return hashlib.sha256(stream.read()).hexdigest()
