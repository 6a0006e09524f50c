"""Your images unchanged, in tar files of about 1 GiB as WebDataset reads them.

    python prepare.py IMAGES OUT

WebDataset reads such files from start to end, which suits network disks and object stores, and shuffles within a
memory buffer:

    webdataset.WebDataset(sorted(glob.glob("OUT/*.tar")), shardshuffle=100).shuffle(1000).decode("pil")

The key of an image is its path without the extension, so it contains the directory as a label. A dot in a name becomes
"_", because WebDataset takes what follows the first dot as the extension; duplicate keys get a number. With the index
beside them, you can read the files in any order:

    from prepare import Reader                 # this file

    class Photos(torch.utils.data.Dataset):
        def __init__(self):
            self.images = Reader("OUT")

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            image = Image.open(io.BytesIO(self.images.read(index))).convert("RGB")
            return transform(image), os.path.dirname(self.images.name(index))

Run the same command again to continue after an interruption.
"""

import json
import os
import tarfile
from array import array
from typing import Any, BinaryIO, Dict, Iterator, List, Set, Tuple

from .preparing import Outcome, Source, content_of, leave_room, originals

NAME = "webdataset"
TITLE = "tar files (WebDataset)"
CAVEAT = "WebDataset reads it from start to end: it only shuffles within a memory buffer"
PRIORITY = 1050

END = bytes(2 * tarfile.BLOCKSIZE)
MOST = 1 << 30  # bytes of images in an archive
INDEX = "index.u64"  # per image, as unsigned 64-bit numbers: archive, first byte, length, start of the next
NAMES = "names.txt"  # a JSON string in each line


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    named, shards = members(images), Shards(out)
    try:
        for name, content, trouble in originals([each for each in images if each[0] not in shards.done]):
            if not trouble:
                leave_room(out, len(content), wanted)
                shards.add(name, named[name], content)
            yield name, len(content), trouble
    finally:
        shards.end()


def members(images: List[Source]) -> Dict[str, str]:
    """Return the name in the archive for the name of each image: no two have the same key."""
    found: Dict[str, str] = {}
    taken: Set[str] = set()
    for number, (name, _) in enumerate(images):
        directory, file = os.path.split(name)
        stem, suffix = os.path.splitext(file)
        key = os.path.join(directory, stem.replace(".", "_"))
        while key in taken:
            key += "_%d" % number
        taken.add(key)
        found[name] = key + suffix.lower()
    return found


def frame(member: str, content: bytes) -> Tuple[bytes, bytes]:
    """Return the bytes around a file in an archive. Source: pax(1), "ustar Interchange Format"."""
    header = tarfile.TarInfo(member)
    header.size = len(content)
    return header.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"), bytes(-len(content) % tarfile.BLOCKSIZE)


class Shards:
    """Archives to append to, and their index. An interrupted run's incomplete member is cut off first."""

    def __init__(self, out: str) -> None:
        self.out = out
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
        self.data.write(END)
        for each in (self.data, self.index, self.names):
            each.close()

    def add(self, name: str, member: str, content: bytes) -> None:
        before, after = frame(member, content)
        if self.offset and self.offset + len(content) > MOST:
            self._start_next_file()
        for each in (before, content, after):
            self.data.write(each)
        start = self.offset + len(before)
        self.offset = start + len(content) + len(after)
        self.index.write(array("Q", (self.number, start, len(content), self.offset)).tobytes())
        self.names.write(line_of(name))

    def _start_next_file(self) -> None:
        self.data.write(END)
        self.data.close()
        self.number, self.offset = self.number + 1, 0
        self.data = self._open_file()

    def _open_file(self) -> BinaryIO:
        return appended(self._make_path(self.number), self.offset)

    def _make_path(self, number: int) -> str:
        return os.path.join(self.out, "images-%05d.tar" % number)

    def _measure_size(self, number: int) -> int:
        return os.path.getsize(self._make_path(number)) if os.path.exists(self._make_path(number)) else 0


class Reader:
    """Reads the original images, in any order."""

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
