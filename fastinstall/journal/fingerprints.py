"""Tell what fastinstall brought in from what is foreign, by the content of each file.

Inodes and times prove nothing after a copy, a restored backup or a reused number; content does. Contents known to be
ours, or put there by a program that we ran, are listed; everything else is foreign. Bytecode counts as neither, because
Python generates it again.

conda's history of an environment only grows; revisions that others appended since are theirs, and stay. Source:
conda/history.py; a revision begins with a line "==> date <==".

Directories are remembered with their entries, modes and modification times, to be restored as they were.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from glob import escape
from pathlib import Path, PurePath

from fastinstall.core import files, foreign
from fastinstall.core.values import immutable


@immutable
class KnownFiles:
    """What a journal knows of files.

    Attributes:
        digests: by path, relative to the prefix, what has stood there.
        unwatched: paths where any content may stand: what another program was changing when the process died, and
            records of conda packages that came, which engines write anew when they learn what the user asked for, and
            conda's history, which is conda's whatever it tells.
        home: the prefix that they were put into, in hexadecimal; empty if nobody knows.
    """

    digests: dict[str, frozenset[str]]
    unwatched: frozenset[str] = frozenset()
    home: str = ""

    def has(self, path: str, digest: str) -> bool:
        """Whether a content is not foreign."""
        return path in self.unwatched or digest in self.of(path)

    def of(self, path: str) -> frozenset[str]:
        """The contents known of a path."""
        return self.digests.get(path, frozenset())


def merge_manifests(
    manifests: Iterable[Mapping[str, str]], unwatched: Iterable[str] = (), home: str = ""
) -> KnownFiles:
    """What several manifests (path to digest) say together."""
    digests: dict[str, set[str]] = {}
    for manifest in manifests:
        for path, digest in manifest.items():
            digests.setdefault(path, set()).add(digest)
    found = {path: frozenset(each) for path, each in digests.items()}
    return KnownFiles(digests=found, unwatched=frozenset(unwatched), home=home)


_CACHE = "__pycache__"
_HEXADECIMAL = re.compile("([0-9a-f]{2})+")
_LONGEST_TEXT = 1 << 20
"""What is longer is no text with a prefix in it; bytes."""


def fingerprint(tree: Path, live: str) -> dict[str, str]:
    """The digest of every file of `tree`, by the path that it has when `tree` stands at `live`."""
    return {key: digest(path) for key, path in files_of(tree, live)}


def is_ours(tree: Path, live: str, known: KnownFiles) -> bool:
    """Whether every file of the tree is one that is known there, unaltered; missing ones do not matter."""
    return all(is_known(path, key, known) for key, path in files_of(tree, live))


def is_whole(tree: Path, live: str, known: KnownFiles) -> bool:
    """Whether a tree is what is known there: ours, and nothing of it is missing.

    What stood there before may be a part of what was brought in, file by file the same.
    """
    found = {key for key, _ in files_of(tree, live)}
    expected = {path for path in known.digests if path == live or path.startswith(f"{live}/")}
    return expected <= found and is_ours(tree, live, known)


def is_known(lies: Path | bytes, key: str, known: KnownFiles) -> bool:
    """Whether a file is what is known of a path.

    Args:
        lies: where the file lies, or its content.
        key: where it stands, or will.
        known: its digests by path.
    """
    found = digest(lies) if isinstance(lies, Path) else f"sha256:{hashlib.sha256(lies).hexdigest()}"
    if known.has(key, found) or (key == HISTORY and list_later_revisions(lies, known.of(key)) is not None):
        return True
    return isinstance(lies, Path) and _digest_with_prefix_restored(lies, key, known) in known.of(key)


def files_of(tree: Path, live: str) -> Iterator[tuple[str, Path]]:
    """Every file of a tree, without bytecode, by the path that it has when the tree stands at `live`."""
    if tree.is_symlink() or not tree.is_dir():
        yield live, tree
        return
    with os.scandir(tree) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not is_bytecode(f"{tree.name}/{entry.name}"):
                yield from files_of(tree / entry.name, f"{live}/{entry.name}")


def digest(path: Path) -> str:
    """What tells a file's content, or a symbolic link's target, from others."""
    if path.is_symlink():
        return f"link:{path.readlink()}"
    if not path.is_file():
        return "special"
    try:
        return f"sha256:{files.sha256(path)}"
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        return "special"  # larger than anything of ours


def is_bytecode(path: str) -> bool:
    """Whether Python wrote it, and will write it again."""
    return path.endswith(".pyc") and PurePath(path).parent.name == _CACHE


def bytecode(prefix: Path, module: str) -> tuple[str, ...]:
    """The bytecode of a module's source that is there, relative to the prefix; none of other files."""
    path = PurePath(module)
    if path.suffix != ".py":
        return ()
    cache = path.parent / _CACHE
    found = (prefix / cache).glob(f"{escape(path.stem)}.*.pyc")
    return tuple(sorted((cache / file.name).as_posix() for file in found))


def _digest_with_prefix_restored(path: Path, key: str, known: KnownFiles) -> str:
    """The digest that a file in its place had before a program made a copy of the environment and replaced the prefix.

    Source: `clone_env` in conda's misc.py, which does so in whatever is UTF-8; conda-pack does with what it knows.
    """
    prefix, tail = os.fsencode(path)[: -len(os.fsencode(key))], os.fsencode(path)[-len(os.fsencode(key)) :]
    if not known.of(key) or tail != os.fsencode(key) or path.is_symlink() or not path.is_file():
        return ""
    if path.stat().st_size > _LONGEST_TEXT or not _HEXADECIMAL.fullmatch(known.home):
        return ""
    content = foreign.read_bytes(path).replace(prefix.rstrip(b"/"), bytes.fromhex(known.home))
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


HISTORY = "conda-meta/history"
"""Relative to the prefix."""

_BEGINNING = b"==> "


def list_later_revisions(file: Path | bytes, digests: Collection[str]) -> bytes | None:
    """Return the history after the longest of these prefixes, or None if it starts with none of them."""
    if isinstance(file, Path) and (file.is_symlink() or not file.is_file()):
        return None
    content = foreign.read_bytes(file) if isinstance(file, Path) else file
    ends = (
        end for end in _list_revision_ends(content) if f"sha256:{hashlib.sha256(content[:end]).hexdigest()}" in digests
    )
    end = next(ends, None)
    return None if end is None else content[end:]


def carry(revisions: bytes, kept: Path, like: Path) -> None:
    """Add revisions to a kept history, as late as the live one; done already is fine."""
    content = foreign.read_bytes(kept)
    if content.endswith(revisions):
        return
    files.write_bytes(kept, content + revisions, mode=kept.stat().st_mode & 0o777)
    os.utime(kept, ns=(like.stat().st_atime_ns, like.stat().st_mtime_ns))


def _list_revision_ends(content: bytes) -> Iterator[int]:
    """Where a revision may end, the last one first."""
    end = len(content)
    while end > 0:
        yield end
        end = content.rfind(b"\n" + _BEGINNING, 0, end - 1) + 1
    yield 0


_STAYS = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY)
"""It has entries (rmdir(2) knows two names for that), is gone, is something else, or something is mounted there."""


@immutable
class Directory:
    """A directory whose entries change, as it was before.

    Attributes:
        path: which.
        mtime_ns: its modification time, nanoseconds since the epoch.
        names: a digest of its entries' names.
        mode: its permission bits; 0 where an older journal did not note them.
    """

    path: str
    mtime_ns: int
    names: str
    mode: int = 0


def remember(prefix: Path, paths: Iterable[str]) -> tuple[Directory, ...]:
    """Look at directories below `prefix`; those that are not there are left out."""
    return tuple(_look(prefix, path) for path in dict.fromkeys(paths) if (prefix / path).is_dir())


def ancestors(paths: Iterable[str]) -> tuple[str, ...]:
    """The directories on the way to paths, each once, a parent before its children."""
    return tuple(dict.fromkeys(parent.as_posix() for path in paths for parent in reversed(PurePath(path).parents)))


def restore(prefix: Path, directories: Iterable[Directory]) -> None:
    """Give directories their modification time back where they hold the same names as then.

    Where somebody else has added or removed an entry since, the time stays: Python's importers
    trust it to notice what is there (importlib's FileFinder caches a listing by its mtime).
    """
    for directory in directories:
        path = prefix / directory.path
        if path.is_dir() and path.stat().st_mtime_ns != directory.mtime_ns and _digest_names(path) == directory.names:
            os.utime(path, ns=(path.stat().st_atime_ns, directory.mtime_ns))


def remake(prefix: Path, directories: Iterable[Directory]) -> None:
    """Make those that are gone, with their modes; parents come before children."""
    umask = os.umask(0)  # a mode that is given afterwards might never be given
    try:
        for directory in directories:
            if not (prefix / directory.path).is_dir():
                (prefix / directory.path).mkdir(mode=directory.mode)
                files.sync_directory((prefix / directory.path).parent)
    finally:
        os.umask(umask)


def remove_empty(prefix: Path, paths: Iterable[str]) -> None:
    """Take directories away, the last one first; those that somebody else's entries are in by now stay.

    Raises:
        OSError: as the kernel says of one that could go.
    """
    for path in reversed(tuple(paths)):
        if not (prefix / path).is_dir():
            continue  # a disk that is read-only refuses even to remove what is not there
        try:
            (prefix / path).rmdir()
        except OSError as error:
            if error.errno not in _STAYS:
                raise


def list_changed_directories(prefix: Path, paths: Iterable[str]) -> Iterator[Path]:
    """The directories whose entries change when some are made or taken away: those that are there, each once."""
    found = dict.fromkeys((prefix / path).parent for path in paths)
    return (directory for directory in found if directory.is_dir())


def files_below(prefix: Path, pattern: str) -> Iterator[str]:
    """Everything but directories that matches a pattern of `Path.glob` or lies below, relative to `prefix`."""
    for found in sorted(prefix.glob(pattern)):
        if found.is_symlink() or not found.is_dir():
            yield found.relative_to(prefix).as_posix()
        for directory, names, others in os.walk(found):
            links = (name for name in names if (Path(directory) / name).is_symlink())
            yield from ((Path(directory) / name).relative_to(prefix).as_posix() for name in (*others, *links))


def directories_below(prefix: Path, pattern: str) -> Iterator[str]:
    """The directories among them, a parent before its children."""
    tops = (found for found in sorted(prefix.glob(pattern)) if not found.is_symlink())
    return (Path(directory).relative_to(prefix).as_posix() for top in tops for directory, _, _ in os.walk(top))


def _look(prefix: Path, path: str) -> Directory:
    status = (prefix / path).stat()
    names = _digest_names(prefix / path)
    return Directory(path=path, mtime_ns=status.st_mtime_ns, names=names, mode=stat.S_IMODE(status.st_mode))


def _digest_names(directory: Path) -> str:
    names = sorted(os.fsencode(path.name) for path in directory.iterdir())
    return hashlib.sha256(b"\0".join(names)).hexdigest()[:16]
