"""The directories of fastinstall's cache, with their purposes and sizes."""

from fastinstall.core.messages import format_bytes
from fastinstall.core.values import immutable

PURPOSES = {
    "downloads": "sdists, wheels and headers, as the indexes have them",
    "toolchains": "compilers, unpacked",
    "wheels": "built wheels",
    "installed": "wheels that were installed as they came, for repairs",
    "requirements": "what a build requires for itself",
    "statics": "libraries that are linked in",
    "headers": "C headers, unpacked",
    "unpacked": "official wheels, to run and to compare with",
    "libraries": "packages that measurements brought",
    "conda": "conda packages",
    "proofs": "what was proven",
    "isa": "scans of machine code",
    "tool": "fastinstall itself and what it requires, for other machines",
    "speed": "speed tables",
    "logs": "logs of builds",
    "manifests": "hashes of what was unpacked",
    "tmp": "left over from runs that were killed",
}
"""Purposes of the cache's removable directories, by name; of `tmp`, only leftovers of killed runs are removed."""


@immutable
class CachePart:
    """A directory of the cache.

    Attributes:
        name: name of the directory ("downloads").
        purpose: what it contains, for messages.
        disk_bytes: disk space of its files in bytes; a file with several links counts once.
    """

    name: str
    purpose: str
    disk_bytes: int


@immutable
class CacheSurvey:
    """The content of the cache, or the content that was removed from it.

    Attributes:
        directory: path of the cache.
        parts: its directories, the largest first, without empty ones.
        disk_bytes: disk space of all parts together.
        removed: whether the parts have been removed.
    """

    directory: str
    parts: tuple[CachePart, ...]
    disk_bytes: int
    removed: bool = False

    @property
    def size(self) -> str:
        """The disk space for messages: "378.2 MB"."""
        return format_bytes(self.disk_bytes)
