"""Protect a run from programs and files of other users, and from an unsafe umask or PATH.

A file is neither run nor read as settings if just any user could have created it. The owner of the file counts, not
only the permissions of its directory: in CI images with a world-writable `/opt`, files of root or of this user are
still trusted.
"""

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.files import opened, sync_directory
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable

_ROOT = 0


@immutable
class TrustedPath:
    """A file or directory with the permissions that decide whether it is trusted.

    Attributes:
        path: the absolute path, without following links.
        mode: permission bits, including the sticky bit.
        owner: the owner's user ID.
    """

    path: PurePath
    mode: int
    owner: int


@immutable
class Person:
    """The user who runs fastinstall.

    Attributes:
        user: the effective user ID.
        before: the ID of the user who called sudo; None if sudo was not used.
    """

    user: int
    before: int | None = None

    @property
    def trusted(self) -> frozenset[int]:
        """IDs of the users whose files are trusted: root, this user, and the caller of sudo."""
        return frozenset(each for each in (_ROOT, self.user, self.before) if each is not None)


def explain_file_distrust(file: TrustedPath, directory: TrustedPath, person: Person) -> str:
    """Return why a file must not be run or read as settings; empty if it is trusted.

    A file of another user is distrusted only in a world-writable directory. In other directories, that user was given
    write access on purpose, by an administrator or a group (software of a cluster, a project's shared directory).

    Args:
        file: the file; if it is a symbolic link, the link itself.
        directory: the directory that contains the file.
        person: the user who would run it.
    """
    if not directory.mode & stat.S_IWOTH:
        return ""
    if file.owner not in {*person.trusted, directory.owner}:
        return "anyone may put files there, and this one is neither yours nor root's"
    if directory.mode & stat.S_ISVTX and file.mode & stat.S_IWOTH:
        return "anyone may reach it and write to it"
    return ""


def keep_trusted_path_entries(path: str, modes: Mapping[str, int], planted: Collection[str] = ()) -> str:
    """Return PATH without entries in which any user could put a program.

    Args:
        path: the value of PATH.
        modes: permission bits by directory; a directory that is not in this mapping is kept.
        planted: world-writable directories with files of other users.

    Returns:
        PATH without: 1. relative entries, which include empty ones (the working directory); 2. directories that are
        both world-writable and sticky, such as /tmp; 3. the directories in `planted`.
    """
    public = {entry for entry, mode in modes.items() if mode & stat.S_IWOTH and mode & stat.S_ISVTX}
    return ":".join(entry for entry in path.split(":") if entry.startswith("/") and entry not in {*planted, *public})


def restrict_umask(mask: int) -> int:
    """Return a umask under which no new file is world-writable; a mask that already ensures that is unchanged."""
    return mask if mask & stat.S_IWOTH else mask | 0o022


def describe_place(place: TrustedPath, owner: str) -> str:
    """Describe a path for a message: "/tmp (mode 1777, owner root)"."""
    return f"{place.path} (mode {place.mode:04o}, owner {owner or place.owner})"


@contextmanager
def restrict_surroundings() -> Iterator[None]:
    """While the block runs, set a umask against world-writable files, and a PATH without unsafe directories."""
    before, path = os.umask(0o022), os.environ.get("PATH")
    os.umask(restrict_umask(before))
    if path is not None:
        modes = _read_modes(path)
        planted = [entry for entry, mode in modes.items() if mode & stat.S_IWOTH and _holds_planted_file(entry)]
        os.environ["PATH"] = keep_trusted_path_entries(path, modes, planted)
    try:
        yield
    finally:
        os.umask(before)
        if path is not None:
            os.environ["PATH"] = path


def find_program(name: str, variables: Mapping[str, str]) -> str | None:
    """Find a program by name on PATH or by path, or return None if there is none.

    Raises:
        RefusedError: any user could have put the program into its directory.
    """
    import shutil  # slow to import; doctor looks for no program

    found = shutil.which(name, path=variables.get("PATH"))
    if found is not None:
        hint = f"take {quote(Path(found).parent)} out of PATH, or give another program's path"
        refuse_planted(Path(found), variables, hint)
    return found


def refuse_planted(file: Path, variables: Mapping[str, str], hint: str) -> None:
    """Refuse an existing file that any user could have put into its directory; a missing file is accepted.

    Args:
        file: the file that would be run or read as settings.
        variables: the environment; SUDO_UID identifies the caller of sudo.
        hint: what the user can do instead.

    Raises:
        RefusedError: the file is distrusted; the message names the file, its directory, and the owners of both.
    """
    person = find_person(variables)
    for path in dict.fromkeys((file.absolute(), Path(os.path.realpath(file)))):
        with suppress(OSError):
            place, directory = inspect_path(path), inspect_path(path.parent)
            objection = explain_file_distrust(place, directory, person)
            if objection:
                where = f"in {describe_place(directory, name_user(directory.owner))}"
                raise RefusedError(f"{describe_place(place, name_user(place.owner))}, {where}: {objection}", hint=hint)


def make_private(directory: Path, *, durable: bool = False) -> Path:
    """Create a directory that only its owner may enter, and its missing parents in the same way.

    An existing directory is not changed.

    If root creates the directory inside another user's directory, that user becomes the owner: sudo may keep HOME, and
    a `~/.local` that belonged to root would lock the user out.

    Args:
        durable: whether to force the entry of each new directory to the disk.

    Source: XDG Base Directory Specification 0.8, "Referencing this specification": 0700.
    """
    if not directory.is_dir():
        if directory.parent != directory:
            make_private(directory.parent, durable=durable)
        directory.mkdir(0o700, exist_ok=True)
        _hand_over(directory)
        if durable:
            sync_directory(directory.parent)
    return directory


def _hand_over(directory: Path) -> None:
    above = directory.parent.stat()
    if os.geteuid() != _ROOT or above.st_uid == _ROOT or above.st_mode & stat.S_ISVTX:
        return
    with opened(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) as descriptor:
        if os.fstat(descriptor).st_uid == _ROOT:
            os.fchown(descriptor, above.st_uid, above.st_gid)


def _read_modes(path: str) -> dict[str, int]:
    found = {}
    for entry in path.split(":"):
        with suppress(OSError, ValueError):
            found[entry] = stat.S_IMODE(os.stat(entry).st_mode)  # noqa: PTH116 (faster; runs at every start)
    return found


def _holds_planted_file(directory: str) -> bool:
    """Return whether a directory contains a file of an untrusted user; True if the directory cannot be read."""
    person, owner = find_person(os.environ), Path(directory).stat().st_uid
    try:
        with os.scandir(directory) as entries:
            owners = {entry.stat(follow_symlinks=False).st_uid for entry in entries}
    except OSError:
        return True
    return not owners <= {*person.trusted, owner}


def inspect_path(path: Path) -> TrustedPath:
    """Return a path's permissions without following links; mode 0 for a link, since links have none (symlink(7))."""
    status = path.lstat()
    mode = 0 if stat.S_ISLNK(status.st_mode) else stat.S_IMODE(status.st_mode)
    return TrustedPath(path=path, mode=mode, owner=status.st_uid)


def find_person(variables: Mapping[str, str]) -> Person:
    """Return the user who runs fastinstall, and the caller of sudo, whom SUDO_UID identifies."""
    before = variables.get("SUDO_UID", "")
    return Person(user=os.geteuid(), before=int(before) if before.isdecimal() else None)


def name_user(user: int) -> str:
    """Return the user name of a user ID; empty if this machine has no such account."""
    import pwd  # rarely needed

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return ""
