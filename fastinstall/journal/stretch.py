"""A stretch in which another program changes the environment: what is announced before it, and what is noted after it.

Values alone; `engage` makes them, `disengage` undoes from them. Paths are relative to the environment's prefix.
"""

from fastinstall.journal.directories import Directory
from fastinstall.model.immutable import immutable


@immutable
class Stretch:
    """What another program is going to do.

    Attributes:
        copies: files that it takes away or overwrites; those that are not there count as appearing.
        appearing: files that it brings; those that are there already are copied too.
        grounds: patterns of `Path.glob` for places that are its alone, such as drafts: whatever appears there is its.
    """

    copies: tuple[str, ...]
    appearing: tuple[str, ...]
    grounds: tuple[str, ...] = ()


@immutable
class Copied:
    """A file or symbolic link as it was before; its copy's name is its place in the list.

    Attributes:
        path: where it stands.
        digest: of its content.
        mode: its permission bits.
        mtime_ns: its modification time, nanoseconds since the epoch.
    """

    path: str
    digest: str
    mode: int
    mtime_ns: int


@immutable
class Engaging:
    """Another program is about to change the environment.

    Attributes:
        area: holds the copies, relative to the transaction's `work`; it is gone once the stretch is undone.
        copies: what was copied.
        appearing: what may come, and was not there.
        grounds: see `Stretch`.
        records: names of the files in `conda-meta` that describe packages.
        created: directories that are not there, and that what comes may need, outermost first.
        directories: that are there, and whose entries may change, outermost first.
    """

    area: str
    copies: tuple[Copied, ...]
    appearing: tuple[str, ...]
    grounds: tuple[str, ...]
    records: tuple[str, ...]
    created: tuple[str, ...]
    directories: tuple[Directory, ...]

    @property
    def paths(self) -> frozenset[str]:
        """All that is announced."""
        return frozenset((*(copied.path for copied in self.copies), *self.appearing))


@immutable
class Engaged:
    """The stretch announced last has ended, well or not.

    Attributes:
        manifest: what it brought or changed: path to digest.
        untouched: paths that were copied, and that it left as they were.
        removed: directories that it took away.
    """

    manifest: dict[str, str]
    untouched: tuple[str, ...]
    removed: tuple[str, ...]
