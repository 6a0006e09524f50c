"""Your images unchanged, in an LMDB database: one file that all processes map into memory.

    python -m pip install lmdb
    python prepare.py IMAGES OUT

This only saves opening a file for each image; decoding takes as long as before. To read the images:

    from prepare import Reader                 # this file

    class Photos(torch.utils.data.Dataset):
        def __init__(self):
            self.images = Reader("OUT")

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            image = Image.open(io.BytesIO(self.images.read(index))).convert("RGB")
            return transform(image), os.path.dirname(self.images.name(index))

Every process opens the database separately, because an open LMDB database must not be used after a fork. Run the same
command again to continue after an interruption.
"""

import mmap
import os
from typing import Any, Dict, Iterator, List
from weakref import WeakSet

from ._preparing import Outcome, Source, leave_room, originals

TITLE = "LMDB"
CAVEAT = "it saves opening files, not decoding; a network fetches its pages one by one"
MODULES = ("lmdb",)
BRINGS = ("lmdb",)
PRIORITY = 1020

FILE = "data.mdb"
PAGE = min(mmap.PAGESIZE, 32768)  # bytes; LMDB uses the kernel's page size, but at most this one (MAX_PAGESIZE)


def make(images: List[Source], out: str, wanted: Dict[str, Any]) -> Iterator[Outcome]:
    import lmdb

    sizes = (os.path.getsize(path) for _, path in images if os.path.exists(path))
    room = 2 * sum(size + 2 * PAGE for size in sizes) + (64 << 20)  # only address space; the file grows as needed
    with lmdb.open(out, map_size=room, max_dbs=2, sync=False) as store:
        tables = store.open_db(b"images"), store.open_db(b"names")
        with store.begin(db=tables[1]) as transaction:
            done = set(transaction.cursor().iternext(keys=False))
        count = len(done)
        for name, content, trouble in originals([each for each in images if os.fsencode(each[0]) not in done]):
            if not trouble:
                leave_room(out, len(content) + PAGE, wanted)
                with store.begin(write=True) as transaction:
                    for table, value in zip(tables, (content, os.fsencode(name))):
                        transaction.put(b"%010d" % count, value, db=table)
                count += 1
            yield name, len(content), trouble
        store.sync(force=True)


class Reader:
    """Reads the stored images. It opens the database at the first read, and closes it before each fork."""

    def __init__(self, path: str) -> None:
        self.root = path
        self.paths = [os.path.join(path, FILE)]
        self._handle: Any = None
        READERS.add(self)

    def __reduce__(self) -> Any:
        return type(self), (self.root,)

    def handle(self) -> Any:
        import lmdb

        if self._handle is None:
            store = lmdb.open(self.root, readonly=True, lock=False, readahead=False, max_dbs=2)
            self._handle = store, store.open_db(b"images", create=False), store.open_db(b"names", create=False)
        return self._handle

    def close(self) -> None:
        if self._handle is not None:
            self._handle[0].close()
            self._handle = None

    def __len__(self) -> int:
        store, images, _ = self.handle()
        with store.begin() as transaction:
            return int(transaction.stat(images)["entries"])

    def read(self, index: int, table: int = 1) -> bytes:
        handle = self.handle()
        with handle[0].begin(db=handle[table]) as transaction:
            return bytes(transaction.get(b"%010d" % index))

    def name(self, index: int) -> str:
        return os.fsdecode(self.read(index, 2))


READERS: "WeakSet[Reader]" = WeakSet()
os.register_at_fork(before=lambda: list(map(Reader.close, READERS)))
