"""The kernel's map of a process's memory. Source: proc_pid_maps(5)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..([x-]). ([0-9a-f]+) \S+ (\d+) *(.*)")


_DELETED = " (deleted)"


_NO_FILES = ("/memfd:", "/dev/", "/SYSV", "/[aio]", "/anon_hugepage")


@dataclass(frozen=True, slots=True)
class Mapping:
    """A range of a process's memory.

    Attributes:
        start: the address of its first byte.
        end: the address after it.
        is_executable: whether code may run there.
        offset: of its start in the file, in bytes.
        inode: of the file, from the kernel; 0 without a file.
        path: the file, in the mount namespace of the process; in brackets if not a file ("[stack]"), or empty.
        is_deleted: whether the file has been unlinked; `path` is its former name.
    """

    start: int
    end: int
    is_executable: bool
    offset: int
    inode: int
    path: str
    is_deleted: bool

    @property
    def is_file(self) -> bool:
        """Whether it comes from a file, and not from memory that only looks like one."""
        return self.path.startswith("/") and not self.path.startswith(_NO_FILES)


def read_mappings(lines: Iterable[str]) -> Iterator[Mapping]:
    """Parse the lines of a `maps` file; other lines are skipped."""
    for found in map(_LINE.fullmatch, lines):
        if found is not None:
            start, end, offset = (int(found[group], 16) for group in (1, 2, 4))
            path = found[6].replace("\\012", "\n")  # the kernel's escape of a line break
            yield Mapping(
                start=start,
                end=end,
                is_executable=found[3] == "x",
                offset=offset,
                inode=int(found[5]),
                path=path.removesuffix(_DELETED),
                is_deleted=path.endswith(_DELETED),
            )
