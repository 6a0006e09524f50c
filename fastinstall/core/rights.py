"""Adapt the owner, group, permission bits and access lists of files to the directory that they were moved into.

A renamed file keeps the rights that it was created with. This module gives it the rights that it would have if the
directory's owner had created it there. The directory's set-group-ID bit and default access list count, but the umask
does not. Users outside the group never get write permission, unless a default access list grants it. Source: acl(5),
"Object creation and default ACLs"; inode(7), set-group-ID.

Only root can change a file's owner. Root does so only for entries of directories that root owns, because another owner
of the directory could replace the file meanwhile.
"""

import errno
import itertools
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.values import immutable

_ROOT = 0
_ACCESS = "system.posix_acl_access"
_DEFAULT = "system.posix_acl_default"
_USER_OBJ, _GROUP_OBJ, _MASK, _OTHER = 0x01, 0x04, 0x10, 0x20
_HEADER, _ENTRY = struct.Struct("<I"), struct.Struct("<HHI")
_UNABLE = (errno.EPERM, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)
"""Errors to ignore: the filesystem does not store owners, modes or access lists, or this user is not in the group."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


@immutable
class Rights:
    """The rights that a directory passes on to new files and directories in it.

    Attributes:
        owner: user ID of the directory's owner; only root can set it.
        group: group ID; None to leave the group as the kernel chose it.
        bits: permission bits of the directory, with its set-group-ID bit.
        default: the directory's default access list, in the kernel's binary form; empty if there is none.
    """

    owner: int
    group: int | None
    bits: int
    default: bytes = b""

    def find_entry_rights(self, mode: int) -> tuple[int, bytes]:
        """Return the permission bits and the access list, in the kernel's binary form, to give to an entry.

        The list is empty if there is no default list, or if permission bits alone express it.

        Args:
            mode: the entry's current `st_mode`, with its file type.
        """
        is_directory, is_program = stat.S_ISDIR(mode), mode & stat.S_IXUSR
        if self.default:
            made = 0o777 if is_directory or is_program else 0o666
            entries = _parse(self.default)
            middle = _MASK if any(tag == _MASK for tag, _, _ in entries) else _GROUP_OBJ
            limits = {_USER_OBJ: made >> 6, middle: made >> 3 & 7, _OTHER: made & 7}
            limited = [(tag, permission & limits.get(tag, 7), who) for tag, permission, who in entries]
            given = {tag: permission for tag, permission, _ in limited}
            bits = self.bits & stat.S_ISGID * is_directory | given[_USER_OBJ] << 6 | given[middle] << 3 | given[_OTHER]
            is_plain = given.keys() == {_USER_OBJ, _GROUP_OBJ, _OTHER}
            return bits, b"" if is_plain else _HEADER.pack(2) + b"".join(_ENTRY.pack(*entry) for entry in limited)
        if is_directory:
            return stat.S_IRWXU | self.bits & (stat.S_ISGID | 0o075), b""
        execute = 0o011 if is_program else 0
        write = 0o020 if mode & stat.S_IWUSR else 0
        return mode & stat.S_IRWXU | stat.S_IRUSR | self.bits & (0o044 | execute | write), b""


def read_rights(directory: Path) -> Rights:
    """Return the rights that new files and directories in a directory should get.

    Raises:
        OSError: the directory cannot be inspected.
    """
    status = directory.stat()
    passes_group = os.geteuid() == _ROOT or status.st_mode & stat.S_ISGID
    return Rights(
        owner=status.st_uid,
        group=status.st_gid if passes_group else None,
        bits=_read_bits(directory, status.st_mode),
        default=_read_list(directory, _DEFAULT),
    )


def give_tree(path: Path, rights: Rights) -> None:
    """Give rights to a file or a tree; in a tree, the content of each directory comes before the directory itself.

    A file with several hard links is first replaced by a copy, so that its other links keep their rights. If another
    user owns the directory that contains `path`, nothing is changed.

    Raises:
        OSError: the file or tree cannot be read or changed.
    """
    with files.opened(path.parent, os.O_RDONLY | os.O_DIRECTORY) as directory:
        _give_tree(directory, path.name, rights)


def give_entry(path: Path, rights: Rights) -> None:
    """Give rights to a file, or to a directory without its content.

    If another user owns the file or directory, nothing is changed.

    Raises:
        OSError: the file or directory cannot be opened or changed.
    """
    with files.opened(path, _OPEN) as descriptor:
        if os.fstat(descriptor).st_uid == os.geteuid():
            _give(descriptor, rights)


def make_given_directories(directory: Path) -> None:
    """Create a directory and its missing parents, durably; give each the rights that the directory above passes on."""
    missing = tuple(itertools.takewhile(lambda each: not each.is_dir(), (directory, *directory.parents)))
    files.make_directories(directory)
    for path in reversed(missing):
        give_new_directory(path)


def give_new_directory(path: Path) -> None:
    """Give a directory the rights that its parent passes on, if the directory is empty and belongs to this user."""
    with files.opened(path, _OPEN | os.O_DIRECTORY) as descriptor:
        if os.fstat(descriptor).st_uid == os.geteuid() and not os.listdir(descriptor):  # noqa: PTH208 (of a descriptor)
            _give(descriptor, read_rights(path.parent))


def _give_tree(directory: int, name: str, rights: Rights) -> None:
    if os.fstat(directory).st_uid != os.geteuid():
        return
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        _chown(status, rights, lambda user, group: os.chown(name, user, group, dir_fd=directory, follow_symlinks=False))
    elif stat.S_ISDIR(status.st_mode):
        with files.opened(name, _OPEN | os.O_DIRECTORY, directory=directory) as inner:
            for entry in os.listdir(inner):  # noqa: PTH208 (of a descriptor)
                _give_tree(inner, entry, rights)
            _give(inner, rights)
    elif stat.S_ISREG(status.st_mode):
        _give_file(directory, name, rights)


def _give_file(directory: int, name: str, rights: Rights) -> None:
    with files.opened(name, _OPEN, directory=directory) as descriptor:
        if os.fstat(descriptor).st_nlink == 1 or _has(descriptor, rights):
            _give(descriptor, rights)
            return
    held = Path(f"/proc/self/fd/{directory}")
    files.copy_file(held / name, held / f".{name}.fastinstall")
    os.replace(held / f".{name}.fastinstall", held / name)
    _give_file(directory, name, rights)


def _has(descriptor: int, rights: Rights) -> bool:
    status = os.fstat(descriptor)
    current = (stat.S_IMODE(status.st_mode), _read_list(descriptor, _ACCESS))
    return current == rights.find_entry_rights(status.st_mode) and _find_owners(status, rights) is None


def _give(descriptor: int, rights: Rights) -> None:
    """Set the rights that differ; the owner comes last, since the previous owner may not change rights afterwards."""
    status = os.fstat(descriptor)
    if not _has(descriptor, rights):
        bits, access_list = rights.find_entry_rights(status.st_mode)
        _chown(status, rights, lambda _, group: os.fchown(descriptor, -1, group))
        _set_list(descriptor, _ACCESS, b"")
        with _tolerating():
            os.fchmod(descriptor, bits)
        _set_list(descriptor, _ACCESS, access_list)
        _chown(status, rights, lambda user, _: os.fchown(descriptor, user, -1))
    if stat.S_ISDIR(status.st_mode):
        _set_list(descriptor, _DEFAULT, rights.default)


def _find_owners(status: os.stat_result, rights: Rights) -> tuple[int, int] | None:
    """Return the user ID and group ID to set, or None if both are right."""
    user = rights.owner if os.geteuid() == _ROOT else status.st_uid
    group = rights.group if rights.group is not None else status.st_gid
    return (user, group) if (user, group) != (status.st_uid, status.st_gid) else None


def _chown(status: os.stat_result, rights: Rights, change: Callable[[int, int], None]) -> None:
    owners = _find_owners(status, rights)
    if owners is not None:
        with _tolerating():
            change(*owners)


def _set_list(descriptor: int, name: str, content: bytes) -> None:
    if _read_list(descriptor, name) == content:
        return
    with _tolerating():
        if content:
            os.setxattr(descriptor, name, content)
        else:
            os.removexattr(descriptor, name)


def _read_bits(directory: Path, mode: int) -> int:
    """Return a directory's permission bits.

    If the directory has an access list, the group bits of `mode` are the list's mask (acl(5)). The result then has the
    group's own permissions, limited by the mask.
    """
    entries = {tag: permission for tag, permission, _ in _parse(_read_list(directory, _ACCESS))}
    if _MASK not in entries:
        return stat.S_IMODE(mode)
    return stat.S_IMODE(mode) & ~stat.S_IRWXG | (entries[_GROUP_OBJ] & entries[_MASK]) << 3


def _read_list(place: Path | int, name: str) -> bytes:
    with suppress(OSError):  # no access list, or a filesystem without them
        return os.getxattr(place, name)
    return b""


def _parse(access_list: bytes) -> list[tuple[int, int, int]]:
    body = access_list[_HEADER.size :]
    return list(_ENTRY.iter_unpack(body)) if len(body) % _ENTRY.size == 0 else []


@contextmanager
def _tolerating() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
