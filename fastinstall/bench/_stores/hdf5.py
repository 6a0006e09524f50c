"""Your images unchanged, in one HDF5 file: a table of byte strings of different lengths.

    python -m pip install h5py
    python prepare.py IMAGES OUT

It only saves opening a file for each image; decoding stays the same. Reading:

    from prepare import Reader                 # this file

    class Photos(torch.utils.data.Dataset):
        def __init__(self):
            self.images = Reader("OUT")

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            image = Image.open(io.BytesIO(self.images.read(index))).convert("RGB")
            return transform(image), os.path.dirname(self.images.name(index))

Every process opens the file separately, because HDF5 must not be used across a fork. The file is either complete or
absent: after an interruption, the same command starts again.
"""

import os
from typing import Any, Dict, Iterator, List

from .opening import OpenedReader
from .preparing import Outcome, Source, leave_room, originals

NAME = "hdf5"
TITLE = "HDF5"
CAVEAT = "it saves opening files, not decoding; only one thread per process can read at a time"
MODULES = ("h5py",)
BRINGS = ("h5py",)
PRIORITY = 1030

FILE = "images.h5"


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    import h5py

    path = os.path.join(out, FILE)
    if os.path.exists(path):
        refuse_others(path, images)
        return
    with h5py.File(path + ".partial", "w") as file:
        contents, names = (table_in(file, each) for each in ("images", "names"))
        for name, content, trouble in originals(images):
            if not trouble:
                leave_room(out, len(content), wanted)
                append(contents, content)
                append(names, os.fsencode(name))
            yield name, len(content), trouble
    os.replace(path + ".partial", path)


def refuse_others(path: str, images: List[Source]) -> None:
    """Refuse to add images: the existing file is complete."""
    made = Reader(os.path.dirname(path))
    names = {made.name(index) for index in range(len(made))}
    if not names.issuperset(name for name, _ in images):
        raise FileExistsError("%s was made of other images: choose another directory" % path)


def table_in(file: Any, name: str) -> Any:
    import h5py
    import numpy as np

    return file.create_dataset(name, (0,), h5py.vlen_dtype(np.uint8), maxshape=(None,), chunks=(1024,))


def append(table: Any, content: bytes) -> None:
    import numpy as np

    table.resize(len(table) + 1, 0)
    table[len(table) - 1] = np.frombuffer(content, np.uint8)


class Reader(OpenedReader):
    """Reads the original images."""

    FILE = FILE

    def opened(self) -> Any:
        import h5py

        return h5py.File(self.paths[0], "r")

    def shut(self, handle: Any) -> None:
        handle.close()

    def __len__(self) -> int:
        return len(self.handle()["images"])

    def read(self, index: int) -> bytes:
        return bytes(self.handle()["images"][index].tobytes())

    def name(self, index: int) -> str:
        return os.fsdecode(self.handle()["names"][index].tobytes())
