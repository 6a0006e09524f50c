"""Your images unchanged, in tar files of about 1 GiB for WebDataset.

    python prepare.py IMAGES OUT

WebDataset reads the files from start to end, which suits network disks and object stores. It shuffles within a buffer
in memory:

    webdataset.WebDataset(sorted(glob.glob("OUT/*.tar")), shardshuffle=100).shuffle(1000).decode("pil")

The key of an image is its relative path without the extension, so it contains the directory, which is usually the
label. A dot in a name becomes "_", because WebDataset takes the text after the first dot as the extension. Duplicate
keys get a number. Each tar file has an index beside it, so you can also read the images in any order:

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

import io
import json
import os
import tarfile
from contextlib import suppress
from typing import Any, Dict, Iterator, List, Set, Tuple

from ._preparing import Outcome, Source, content_of, leave_room, originals, write_file

TITLE = "tar files (WebDataset)"
CAVEAT = "WebDataset reads it from start to end: it only shuffles within a memory buffer"
PRIORITY = 1050

MOST = 1 << 30  # maximum bytes in an archive


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    named, finished = members(images), Reader(out)
    done = {name for _, name, _, _ in finished.index}
    number, shard = len(finished.paths), None
    with suppress(GeneratorExit):  # the caller may stop early
        for name, content, trouble in originals([each for each in images if each[0] not in done]):
            if not trouble:
                leave_room(out, len(content), wanted)
                if shard is None or shard.archive.offset + len(content) > MOST:
                    if shard is not None:
                        shard.end()
                    shard, number = Shard(os.path.join(out, "images-%05d.tar" % number)), number + 1
                shard.add(name, named[name], content)
            yield name, len(content), trouble
    if shard is not None:
        shard.end()


def members(images: List[Source]) -> Dict[str, str]:
    """Return a member name for each image, by the image's name; the key in each member name is unique."""
    names: Dict[str, str] = {}
    taken: Set[str] = set()
    for number, (name, _) in enumerate(images):
        directory, file = os.path.split(name)
        stem, suffix = os.path.splitext(file)
        key = os.path.join(directory, stem.replace(".", "_"))
        while key in taken:
            key += "_%d" % number
        taken.add(key)
        names[name] = key + suffix.lower()
    return names


class Shard:
    """An archive that is being written. Without its index file it counts as incomplete, and is written again."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.archive = tarfile.open(path, "w", format=tarfile.GNU_FORMAT, encoding="utf-8")  # noqa: SIM115 (closed by `end`)
        self.index: List[Tuple[str, int, int]] = []  # name, position of the first byte, and length of each image

    def add(self, name: str, member: str, content: bytes) -> None:
        header = tarfile.TarInfo(member)
        header.size = len(content)
        self.archive.addfile(header, io.BytesIO(content))
        padded = len(content) + -len(content) % tarfile.BLOCKSIZE
        self.index.append((name, self.archive.offset - padded, len(content)))

    def end(self) -> None:
        self.archive.close()
        write_file(self.path + ".json", json.dumps(self.index).encode())


class Reader:
    """Reads the stored images, in any order."""

    def __init__(self, path: str) -> None:
        self.root = path
        indexes = sorted(os.path.join(path, each) for each in os.listdir(path) if each.endswith(".tar.json"))
        self.paths = [each[: -len(".json")] for each in indexes]
        self.index = [(number, *each) for number, file in enumerate(indexes) for each in json.loads(content_of(file))]
        self._open: Dict[int, int] = {}

    def __reduce__(self) -> Any:
        return type(self), (self.root,)

    def __len__(self) -> int:
        return len(self.index)

    def name(self, index: int) -> str:
        return str(self.index[index][1])

    def read(self, index: int) -> bytes:
        number, _, start, length = self.index[index]
        if number not in self._open:
            self._open[number] = os.open(self.paths[number], os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(self._open[number], length, start)

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])
