"""What fastinstall's cache holds, by its directories, and what each takes on the disk."""

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
"""Each directory of the cache that may be removed, and what is in it; of `tmp`, what no run at work has there."""


@immutable
class CachePart:
    """A directory of the cache.

    Attributes:
        name: of the directory ("downloads").
        purpose: what is in it, for people.
        disk_bytes: blocks that its files take, in bytes; a file with several links counts once.
    """

    name: str
    purpose: str
    disk_bytes: int


@immutable
class CacheSurvey:
    """The cache, or what was removed from it.

    Attributes:
        directory: where it is.
        parts: its directories, the largest first; empty ones are left out.
        disk_bytes: of all of them.
        removed: whether this is what was removed.
    """

    directory: str
    parts: tuple[CachePart, ...]
    disk_bytes: int
    removed: bool = False

    @property
    def size(self) -> str:
        """Its size for people: "378.2 MB"."""
        return format_bytes(self.disk_bytes)
