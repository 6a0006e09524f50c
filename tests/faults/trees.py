"""Directory trees as values, which can be read and restored many times at little cost.

Contents are stored once, in a pool of files. A tree is restored by hard links into the pool. This is fast, and exposes
programs that write into existing files (`Pool.written_through`). Journals, which are meant to grow, are copied instead.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Entry = tuple[int, int, str]
"""Mode with file type, modification time in nanoseconds, and the digest of a file or the target of a link."""

Tree = Mapping[str, Entry]
"""Every entry of a directory, by relative path; "." is the directory itself."""

_GROWING = (".jsonl", "history", ".log", "environments.txt")


@dataclass(slots=True)
class _Seen:
    looks: tuple[int, ...]
    digest: str
    kept: bool


class Pool:
    """Stores the contents of files, each content once for each mode and time.

    Args:
        directory: where the contents are stored, on the same filesystem as the restored trees.

    Attributes:
        numbers: inode numbers by path, from the last `read`; restoring a tree does not restore these.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.numbers: dict[str, int] = {}
        self._directory = directory
        self._seen: dict[str, _Seen] = {}

    def read(self, root: Path, changed: tuple[str, ...] = (), *, keep: bool = True) -> dict[str, Entry]:
        """Return the entries of a directory tree, by path; empty if the directory does not exist.

        Args:
            root: the directory.
            changed: absolute paths of files that are read again even if their times are unchanged.
            keep: whether to store the contents, so that the tree can be restored.
        """
        for path in changed:
            self._seen.pop(path, None)
        self.numbers = {}
        if not root.is_dir():
            return {}
        tree = {".": self._entry(str(root), root.lstat(), keep=keep)}
        start = len(str(root)) + 1
        for entry in _walk(str(root)):
            status = entry.stat(follow_symlinks=False)
            tree[entry.path[start:]] = self._entry(entry.path, status, keep=keep)
            self.numbers[entry.path[start:]] = status.st_ino
        return tree

    def lay(self, tree: Tree, root: Path) -> None:
        """Restore a directory to the state of a tree; leave entries that are equal already alone."""
        there = self.read(root, keep=False)
        for path in sorted(there.keys() - tree.keys(), reverse=True):
            _remove(root / path, there[path])
        for path in sorted(tree.keys() & there.keys(), reverse=True):
            if _kind(tree[path]) != _kind(there[path]):
                _remove(root / path, there.pop(path))
        for path in sorted(tree):
            if tree[path] != there.get(path):
                self._put(tree[path], root / path)
        for path in sorted(tree, reverse=True):
            mode, mtime_ns, _ = tree[path]
            if stat.S_ISDIR(mode) and (root / path).lstat().st_mtime_ns != mtime_ns:
                os.utime(root / path, ns=(mtime_ns, mtime_ns))

    def content(self, entry: Entry) -> bytes:
        """Return the stored content of a file's entry."""
        return self._place(entry).read_bytes()

    def keep(self, content: bytes, like: Entry) -> Entry:
        """Store a content; return an entry with that content, and with mode and time of `like`."""
        mode, mtime_ns, _ = like
        entry = (mode, mtime_ns, hashlib.sha256(content).hexdigest())
        place = self._place(entry)
        if not place.exists():
            place.write_bytes(content)
            _dress(place, entry)
        return entry

    def written_through(self) -> list[Path]:
        """List the pool's files that were modified through a hard link."""
        return [place for place in self._directory.iterdir() if not self._is_whole(place)]

    def _is_whole(self, place: Path) -> bool:
        status = place.lstat()
        with place.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return place == self._place((status.st_mode, status.st_mtime_ns, digest))

    def _entry(self, path: str, status: os.stat_result, *, keep: bool) -> Entry:
        content = ""
        if stat.S_ISREG(status.st_mode):
            content = self._digest(path, status, keep=keep)
        elif stat.S_ISLNK(status.st_mode):
            content = str(Path(path).readlink())
        return (status.st_mode, status.st_mtime_ns, content)

    def _digest(self, path: str, status: os.stat_result, *, keep: bool) -> str:
        looks = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
        seen = self._seen.get(path)
        if seen is None or seen.looks != looks or (keep and not seen.kept):
            content = Path(path).read_bytes()
            like = (status.st_mode, status.st_mtime_ns, "")
            digest = self.keep(content, like)[2] if keep else hashlib.sha256(content).hexdigest()
            self._seen[path] = seen = _Seen(looks=looks, digest=digest, kept=keep)
        return seen.digest

    def _place(self, entry: Entry) -> Path:
        mode, mtime_ns, digest = entry
        return self._directory / f"{digest}-{mode:o}-{mtime_ns}"

    def _put(self, entry: Entry, path: Path) -> None:
        mode, _, content = entry
        if stat.S_ISDIR(mode):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(stat.S_IMODE(mode))
            return
        path.unlink(missing_ok=True)
        if stat.S_ISLNK(mode):
            path.symlink_to(content)
            os.utime(path, ns=(entry[1], entry[1]), follow_symlinks=False)
        elif path.name.endswith(_GROWING):
            shutil.copyfile(self._place(entry), path)
            _dress(path, entry)
        else:
            os.link(self._place(entry), path)


def _walk(directory: str) -> Iterator["os.DirEntry[str]"]:
    with os.scandir(directory) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)


def _dress(path: Path, entry: Entry) -> None:
    path.chmod(stat.S_IMODE(entry[0]))
    os.utime(path, ns=(entry[1], entry[1]))


def _remove(path: Path, entry: Entry) -> None:
    if stat.S_ISDIR(entry[0]):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _kind(entry: Entry) -> int:
    return stat.S_IFMT(entry[0])
