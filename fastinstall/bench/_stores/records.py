"""Images as records in a few large files, with an index of their places."""

import json
import os
from array import array
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, NamedTuple, Tuple

from .preparing import Outcome, Source, content_of, leave_room, originals

INDEX = "index.u64"  # per record, as unsigned 64-bit numbers: file, first byte, length, start of the next
NAMES = "names.txt"  # a JSON string in each line


class Layout(NamedTuple):
    """The layout of records in their files."""

    file: str  # its name from its number: "images-{:05d}.tar"
    frame: Callable[[str, bytes], Tuple[bytes, bytes]]  # bytes before a record, and after it
    end: bytes = b""  # after the last one
    most: int = 1 << 30  # bytes of records in a file


def make_records(images: List[Source], place: Tuple[str, Layout], wanted: Dict[str, Any]) -> Iterator[Outcome]:
    """Append the images that are not stored yet."""
    records = Records(*place)
    try:
        for name, content, trouble in originals([each for each in images if each[0] not in records.done]):
            if not trouble:
                leave_room(place[0], len(content), wanted)
                records.add(name, content)
            yield name, len(content), trouble
    finally:
        records.end()


class Records:
    """Files to append to. An interrupted run's incomplete record is cut off first."""

    def __init__(self, out: str, layout: Layout) -> None:
        self.out, self.layout = out, layout
        index, names = index_in(out), names_in(out)
        count = min(len(index) // 4, len(names))
        while count and index[4 * count - 1] > self._measure_size(index[4 * count - 4]):
            count -= 1
        self.done = set(names[:count])
        self.number, self.offset = (index[4 * count - 4], index[4 * count - 1]) if count else (0, 0)
        self.index = appended(os.path.join(out, INDEX), 32 * count)
        self.names = appended(os.path.join(out, NAMES), sum(len(line_of(each)) for each in names[:count]))
        self.data = self._open_file()

    def end(self) -> None:
        self.data.write(self.layout.end)
        for each in (self.data, self.index, self.names):
            each.close()

    def add(self, name: str, content: bytes) -> None:
        before, after = self.layout.frame(name, content)
        if self.offset and self.offset + len(content) > self.layout.most:
            self._start_next_file()
        for each in (before, content, after):
            self.data.write(each)
        start = self.offset + len(before)
        self.offset = start + len(content) + len(after)
        self.index.write(array("Q", (self.number, start, len(content), self.offset)).tobytes())
        self.names.write(line_of(name))

    def _start_next_file(self) -> None:
        self.data.write(self.layout.end)
        self.data.close()
        self.number, self.offset = self.number + 1, 0
        self.data = self._open_file()

    def _open_file(self) -> BinaryIO:
        return appended(self._make_path(self.number), self.offset)

    def _make_path(self, number: int) -> str:
        return os.path.join(self.out, self.layout.file.format(number))

    def _measure_size(self, number: int) -> int:
        return os.path.getsize(self._make_path(number)) if os.path.exists(self._make_path(number)) else 0


class RecordReader:
    """Reads records in any order."""

    def __init__(self, path: str) -> None:
        self.root = path
        self.index = index_in(path)
        self.paths = sorted(os.path.join(path, each) for each in os.listdir(path) if each.startswith("images"))
        self._open: Dict[int, int] = {}
        self._names: List[str] = []

    def __reduce__(self) -> Any:
        return type(self), (self.root,)

    def __len__(self) -> int:
        return len(self.index) // 4

    def name(self, index: int) -> str:
        self._names = self._names or names_in(self.root)
        return self._names[index]

    def read(self, index: int) -> bytes:
        number, start, length, _ = self.index[4 * index : 4 * index + 4]
        if number not in self._open:
            self._open[number] = os.open(self.paths[number], os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(self._open[number], length, start)

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])


def index_in(place: str) -> "array[int]":
    found = array("Q")
    path = os.path.join(place, INDEX)
    if os.path.exists(path):
        content = content_of(path)
        found.frombytes(content[: len(content) // 32 * 32])
    return found


def names_in(place: str) -> List[str]:
    path = os.path.join(place, NAMES)
    lines = content_of(path).splitlines(keepends=True) if os.path.exists(path) else []
    return [json.loads(each) for each in lines if each.endswith(b"\n")]


def line_of(name: str) -> bytes:
    return json.dumps(name).encode() + b"\n"


def appended(path: str, size: int) -> BinaryIO:
    """Return a file to write to, truncated to a size."""
    stream = open(path, "ab")  # noqa: SIM115 (the caller closes it)
    stream.truncate(size)
    return stream
