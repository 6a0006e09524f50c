"""Distinguish files that fastinstall installed from foreign ones, by the content of each file.

Inode numbers and times prove nothing: environments are copied, backups restored, and inode numbers reused. The journal
lists the digests of all files that fastinstall and the programs that it ran have written; any other file is foreign.
Bytecode is ignored, because Python generates it again.
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
from fastinstall.journal.conda_meta import HISTORY, list_later_revisions


@immutable
class KnownFiles:
    """The file contents that a journal records.

    Attributes:
        digests: all digests that a path, relative to the prefix, has had.
        unwatched: paths whose content is never foreign: 1. files that another program was changing when fastinstall was
            killed; 2. records of installed conda packages, because conda rewrites them to add the user's request;
            3. conda's history.
        home: the prefix at the time of the transaction, as hexadecimal text; empty if unknown.
    """

    digests: dict[str, frozenset[str]]
    unwatched: frozenset[str] = frozenset()
    home: str = ""

    def has(self, path: str, digest: str) -> bool:
        """Return whether a file with this digest counts as known at a path; always True for an unwatched path."""
        return path in self.unwatched or digest in self.of(path)

    def of(self, path: str) -> frozenset[str]:
        """Return the known digests of a path."""
        return self.digests.get(path, frozenset())


def merge_manifests(
    manifests: Iterable[Mapping[str, str]], unwatched: Iterable[str] = (), home: str = ""
) -> KnownFiles:
    """Merge manifests (digests by path); `unwatched` and `home` become the attributes of these names in the result."""
    digests: dict[str, set[str]] = {}
    for manifest in manifests:
        for path, digest in manifest.items():
            digests.setdefault(path, set()).add(digest)
    found = {path: frozenset(each) for path, each in digests.items()}
    return KnownFiles(digests=found, unwatched=frozenset(unwatched), home=home)


_CACHE = "__pycache__"
_HEXADECIMAL = re.compile("([0-9a-f]{2})+")
_LONGEST_TEXT = 1 << 20
"""Maximum size, in bytes, of a file that is searched for the environment's prefix."""


def fingerprint(tree: Path, live: str) -> dict[str, str]:
    """Return the digests of all files of `tree`, by the path that each file has when `tree` is moved to `live`."""
    return {key: digest_entry(path) for key, path in files_of(tree, live)}


def is_known_tree(tree: Path, live: str, known: KnownFiles) -> bool:
    """Return whether every file of `tree` has known content for the path that it has when `tree` is moved to `live`."""
    return all(is_known_file(path, key, known) for key, path in files_of(tree, live))


def is_known_whole(tree: Path, live: str, known: KnownFiles) -> bool:
    """Return whether `tree`, when it is moved to `live`, has every known file below `live`, and no other content.

    `is_known_tree` alone does not show that a tree is ours: another tree may consist of some of the same files.
    """
    found = {key for key, _ in files_of(tree, live)}
    expected = {path for path in known.digests if path == live or path.startswith(f"{live}/")}
    return expected <= found and is_known_tree(tree, live, known)


def is_known_file(lies: Path | bytes, key: str, known: KnownFiles) -> bool:
    """Return whether a file has content that is known for a path.

    Args:
        lies: path of the file on disk, or its content.
        key: path of the file in the environment, relative to the prefix.
        known: the known contents.
    """
    found = digest_entry(lies) if isinstance(lies, Path) else f"sha256:{hashlib.sha256(lies).hexdigest()}"
    if known.has(key, found) or (key == HISTORY and list_later_revisions(lies, known.of(key)) is not None):
        return True
    return isinstance(lies, Path) and _digest_with_prefix_restored(lies, key, known) in known.of(key)


def files_of(tree: Path, live: str) -> Iterator[tuple[str, Path]]:
    """Yield every file of a tree except bytecode: its path when the tree is moved to `live`, and its path now."""
    if tree.is_symlink() or not tree.is_dir():
        yield live, tree
        return
    with os.scandir(tree) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not is_bytecode(f"{tree.name}/{entry.name}"):
                yield from files_of(tree / entry.name, f"{live}/{entry.name}")


def digest_entry(path: Path) -> str:
    """Return "sha256:..." for a file, "link:<target>" for a symbolic link, and "special" for anything else."""
    if path.is_symlink():
        return f"link:{path.readlink()}"
    if not path.is_file():
        return "special"
    try:
        return f"sha256:{files.sha256(path)}"
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        return "special"  # too large to be a file of fastinstall


def is_bytecode(path: str) -> bool:
    """Return whether a path is bytecode in a `__pycache__` directory, which Python writes again if it is missing.

    >>> is_bytecode("PIL/__pycache__/Image.cpython-312.pyc"), is_bytecode("PIL/Image.pyc")
    (True, False)
    """
    return path.endswith(".pyc") and PurePath(path).parent.name == _CACHE


def bytecode(prefix: Path, module: str) -> tuple[str, ...]:
    """Return the existing bytecode files of a module, relative to the prefix; empty if `module` is not a .py file."""
    path = PurePath(module)
    if path.suffix != ".py":
        return ()
    cache = path.parent / _CACHE
    found = (prefix / cache).glob(f"{escape(path.stem)}.*.pyc")
    return tuple(sorted((cache / file.name).as_posix() for file in found))


def _digest_with_prefix_restored(path: Path, key: str, known: KnownFiles) -> str:
    """Return the digest of a file's content with the original prefix in place of the present one.

    Programs that copy an environment replace the prefix in its files. The result is empty if the file is not a
    candidate: no digest is known for its path, the file is a link, or it is too large.

    Source: `clone_env` in conda's misc.py replaces the prefix in every UTF-8 file; conda-pack replaces it in files
    whose records have a placeholder.
    """
    prefix, tail = os.fsencode(path)[: -len(os.fsencode(key))], os.fsencode(path)[-len(os.fsencode(key)) :]
    if not known.of(key) or tail != os.fsencode(key) or path.is_symlink() or not path.is_file():
        return ""
    if path.stat().st_size > _LONGEST_TEXT or not _HEXADECIMAL.fullmatch(known.home):
        return ""
    content = foreign.read_bytes(path).replace(prefix.rstrip(b"/"), bytes.fromhex(known.home))
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
