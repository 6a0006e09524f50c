"""Tell what fastinstall brought in from what is foreign, by the content of each file.

Inodes and times prove nothing after a copy, a restored backup or a reused number; content does. Contents known to be
ours, or put there by a program that we ran, are listed; everything else is foreign. Bytecode counts as neither, because
Python generates it again.
"""

import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from glob import escape
from pathlib import Path, PurePath

from fastinstall.core import files, foreign
from fastinstall.core.values import immutable
from fastinstall.journal.conda_revisions import HISTORY, list_later_revisions


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
        """Return whether a content is not foreign."""
        return path in self.unwatched or digest in self.of(path)

    def of(self, path: str) -> frozenset[str]:
        """Return the contents known of a path."""
        return self.digests.get(path, frozenset())


def merge_manifests(
    manifests: Iterable[Mapping[str, str]], unwatched: Iterable[str] = (), home: str = ""
) -> KnownFiles:
    """Merge what several manifests (path to digest) say."""
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
    """Compute the digest of every file of `tree`, by the path that it has when `tree` stands at `live`."""
    return {key: digest_entry(path) for key, path in files_of(tree, live)}


def is_known_tree(tree: Path, live: str, known: KnownFiles) -> bool:
    """Return whether every file of the tree is one that is known there, unaltered; missing ones do not matter."""
    return all(is_known_file(path, key, known) for key, path in files_of(tree, live))


def is_known_whole(tree: Path, live: str, known: KnownFiles) -> bool:
    """Return whether a tree is what is known there: ours, and nothing of it is missing.

    What stood there before may be a part of what was brought in, file by file the same.
    """
    found = {key for key, _ in files_of(tree, live)}
    expected = {path for path in known.digests if path == live or path.startswith(f"{live}/")}
    return expected <= found and is_known_tree(tree, live, known)


def is_known_file(lies: Path | bytes, key: str, known: KnownFiles) -> bool:
    """Return whether a file is what is known of a path.

    Args:
        lies: where the file lies, or its content.
        key: where it stands, or will.
        known: its digests by path.
    """
    found = digest_entry(lies) if isinstance(lies, Path) else f"sha256:{hashlib.sha256(lies).hexdigest()}"
    if known.has(key, found) or (key == HISTORY and list_later_revisions(lies, known.of(key)) is not None):
        return True
    return isinstance(lies, Path) and _digest_with_prefix_restored(lies, key, known) in known.of(key)


def files_of(tree: Path, live: str) -> Iterator[tuple[str, Path]]:
    """Yield every file of a tree, without bytecode, by the path that it has when the tree stands at `live`."""
    if tree.is_symlink() or not tree.is_dir():
        yield live, tree
        return
    with os.scandir(tree) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not is_bytecode(f"{tree.name}/{entry.name}"):
                yield from files_of(tree / entry.name, f"{live}/{entry.name}")


def digest_entry(path: Path) -> str:
    """Compute what tells a file's content, or a symbolic link's target, from others."""
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
    """Return whether Python wrote it, and will write it again.

    >>> is_bytecode("PIL/__pycache__/Image.cpython-312.pyc"), is_bytecode("PIL/Image.pyc")
    (True, False)
    """
    return path.endswith(".pyc") and PurePath(path).parent.name == _CACHE


def bytecode(prefix: Path, module: str) -> tuple[str, ...]:
    """Return the bytecode of a module's source that is there, relative to the prefix; none of other files."""
    path = PurePath(module)
    if path.suffix != ".py":
        return ()
    cache = path.parent / _CACHE
    found = (prefix / cache).glob(f"{escape(path.stem)}.*.pyc")
    return tuple(sorted((cache / file.name).as_posix() for file in found))


def _digest_with_prefix_restored(path: Path, key: str, known: KnownFiles) -> str:
    """Return the digest that a file had before a copy of the environment was made and the prefix replaced.

    Source: `clone_env` in conda's misc.py replaces the prefix in every UTF-8 file, conda-pack in files whose records
    have a placeholder.
    """
    prefix, tail = os.fsencode(path)[: -len(os.fsencode(key))], os.fsencode(path)[-len(os.fsencode(key)) :]
    if not known.of(key) or tail != os.fsencode(key) or path.is_symlink() or not path.is_file():
        return ""
    if path.stat().st_size > _LONGEST_TEXT or not _HEXADECIMAL.fullmatch(known.home):
        return ""
    content = foreign.read_bytes(path).replace(prefix.rstrip(b"/"), bytes.fromhex(known.home))
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
