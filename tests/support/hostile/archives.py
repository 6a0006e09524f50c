"""Archives that nobody should unpack, made byte by byte: wheels by `HostileZip`, sdists by `hostile_tar`."""

import gzip
import hashlib
import io
import stat
import struct
import tarfile
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

INFORMATION = "pillow-12.1.1+simd.v3.dist-info"
WHEEL = "pillow-12.1.1+simd.v3-cp311-cp311-linux_x86_64.whl"
SDIST = "pillow_simd-12.1.1.post0.tar.gz"
TOP = "pillow_simd-12.1.1.post0"


@dataclass(frozen=True)
class Item:
    """An entry of a zip archive; what is given beside name and content is written whatever the truth is."""

    name: str
    content: bytes = b"x"
    mode: int = stat.S_IFREG | 0o644
    flags: int = 0
    method: int = 8
    own_name: str = ""
    size: int = -1
    checksum: int = -1
    extra: bytes = b""
    own_extra: bytes = b""

    @property
    def packed(self) -> bytes:
        if self.method != 8:
            return self.content
        deflating = zlib.compressobj(9, zlib.DEFLATED, -15)
        return deflating.compress(self.content) + deflating.flush()

    def numbers(self) -> tuple[int, int, int]:
        truth = zlib.crc32(self.content) if self.checksum < 0 else self.checksum
        return truth, len(self.packed), len(self.content) if self.size < 0 else self.size


def local_header(item: Item) -> bytes:
    name = (item.own_name or item.name).encode()
    fields = (b"PK\3\4", 20, item.flags, item.method, 0, 33, *item.numbers(), len(name), len(item.own_extra))
    return struct.pack("<4s5H3L2H", *fields) + name + item.own_extra


def listed(item: Item, offset: int) -> bytes:
    name = item.name.encode()
    lengths = (len(name), len(item.extra), 0)
    fields = (b"PK\1\2", 3 << 8 | 20, 20, item.flags, item.method, 0, 33, *item.numbers(), *lengths, 0, 0)
    return struct.pack("<4s6H3L5H2L", *fields, item.mode << 16, offset) + name + item.extra


def end(count: int, length: int, start: int, comment: bytes = b"") -> bytes:
    return struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, length, start, len(comment)) + comment


def zip_bytes(items: Sequence[Item], *, before: bytes = b"", moved: bool = False, count: int | None = None) -> bytes:
    """An archive; `before` is put in front, with all offsets moved along if so wished."""
    content, directory, shift = before, b"", 0 if moved else len(before)
    for item in items:
        directory += listed(item, len(content) - shift)
        content += local_header(item) + item.packed
    return content + directory + end(len(items) if count is None else count, len(directory), len(content) - shift)


def overlapping(depth: int) -> bytes:
    """Entries each of which has all that follow for a part of its content, which lies there once.

    Source: D. Fifield, "A better zip bomb" (WOOT 2019), "quoted" overlap.
    """
    items: list[Item] = []
    body = b""
    for number in range(depth):
        items.append(Item(f"PIL/{number}", body + b"\0" * 99, method=0))
        body = local_header(items[-1]) + items[-1].content
    places, place = [], 0
    for each in reversed(items):
        places.append(place)
        place += len(local_header(each))
    directory = b"".join(listed(each, place) for each, place in zip(reversed(items), places, strict=True))
    return body + directory + end(depth, len(directory), len(body))


def wheel_items(extra: Sequence[Item] = (), *, record: Callable[[str], str] = lambda text: text) -> list[Item]:
    """A whole, small wheel with some more entries, and a RECORD that lists them unless it is altered."""
    items = [
        Item("PIL/__init__.py", b""),
        Item("PIL/_version.py", b'__version__ = "12.1.1"\n'),
        Item(f"{INFORMATION}/METADATA", b"Metadata-Version: 2.1\nName: pillow\nVersion: 12.1.1+simd.v3\n"),
        Item(f"{INFORMATION}/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n"),
        *extra,
    ]
    rows = [f"{each.name},sha256={_digest(each.content)},{len(each.content)}\n" for each in items]
    text = record("".join([*rows, f"{INFORMATION}/RECORD,,\n"]))
    return [*items, Item(f"{INFORMATION}/RECORD", text.encode())]


def _digest(content: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@dataclass(frozen=True)
class Entry:
    """A member of a tar archive."""

    name: str
    content: bytes = b"x"
    kind: bytes = tarfile.REGTYPE
    target: str = ""
    mode: int = 0o644
    size: int = -1
    pax: Mapping[str, str] = field(default_factory=dict)

    def header(self) -> bytes:
        """Its headers and its content."""
        info = tarfile.TarInfo(self.name)
        info.type, info.linkname, info.mode = self.kind, self.target, self.mode
        content = self.content if self.kind == tarfile.REGTYPE else b""
        info.size = len(content) if self.size < 0 else self.size
        info.pax_headers = dict(self.pax)
        return info.tobuf(tarfile.PAX_FORMAT) + content + bytes(-len(content) % 512)


def tar_bytes(entries: Sequence[Entry], *, behind: bytes = bytes(1024)) -> bytes:
    """An uncompressed archive."""
    return b"".join(entry.header() for entry in (Entry(f"{TOP}/setup.py"), *entries)) + behind


def pax_header(text: bytes, kind: bytes = b"x") -> bytes:
    """A pax header with any text."""
    info = tarfile.TarInfo("pax")
    info.type, info.size = kind, len(text)
    return info.tobuf(tarfile.USTAR_FORMAT) + text + bytes(-len(text) % 512)


def packed(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, compresslevel=9) as stream:
        stream.write(content)
    return buffer.getvalue()


def picture(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Every entry below a directory, with its mode and content."""
    return {
        path.relative_to(directory).as_posix(): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
        )
        for path in directory.rglob("*")
    }
