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

import os
import tarfile
from functools import partial
from typing import Any, Dict, Iterator, List, Set, Tuple

from .preparing import Outcome, Source
from .records import Layout, RecordReader, make_records

NAME = "webdataset"
TITLE = "tar files (WebDataset)"
CAVEAT = "WebDataset reads it from start to end: it only shuffles within a memory buffer"
PRIORITY = 1050

END = bytes(2 * tarfile.BLOCKSIZE)


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    layout = Layout("images-{:05d}.tar", partial(frame, members(images)), end=END)
    return make_records(images, (out, layout), wanted)


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


def frame(named: Dict[str, str], name: str, content: bytes) -> Tuple[bytes, bytes]:
    """Return the bytes around a file in an archive. Source: pax(1), "ustar Interchange Format"."""
    header = tarfile.TarInfo(named[name])
    header.size = len(content)
    return header.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"), bytes(-len(content) % tarfile.BLOCKSIZE)


class Reader(RecordReader):
    """Reads the original images."""
