"""What a run takes from its surroundings unasked: umask, PATH, programs and files nearby.

It decides which places on disk are trusted: what anybody could have put there is neither run nor obeyed. What counts is
who could have put a file where it is found, not how tidy a machine is. Where everybody may write everywhere, as in
images for CI that open `/opt` for all, files still belong to root or to the user, and count.
"""

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from fastinstall.core.errors import RefusedError
from fastinstall.core.files import sync_directory
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable

_ROOT = 0
_EVERYBODY_WRITES = 0o002
_STICKY = 0o1000


@immutable
class TrustedPath:
    """A file or directory, and who rules over it.

    Attributes:
        path: the absolute path, links not followed.
        mode: permissions with the sticky bit.
        owner: the owner's user ID.
    """

    path: PurePath
    mode: int
    owner: int


@immutable
class Person:
    """Who runs this.

    Attributes:
        user: the effective user ID.
        before: the user who called sudo, or None if nobody did.
    """

    user: int
    before: int | None = None

    @property
    def trusted(self) -> frozenset[int]:
        """Whose files are as good as one's own."""
        return frozenset(each for each in (_ROOT, self.user, self.before) if each is not None)


def explain_file_distrust(file: TrustedPath, directory: TrustedPath, person: Person) -> str:
    """Return why a file is not to be run or obeyed where it was found; empty if it is.

    Another user's file is an objection only where everybody may write: elsewhere somebody has made that user
    responsible (software of a cluster, a project's directory that a group shares).

    Args:
        file: what was found; of a symbolic link, the link itself.
        directory: the directory that holds it.
        person: who would run it.
    """
    if not directory.mode & _EVERYBODY_WRITES:
        return ""
    if file.owner not in {*person.trusted, directory.owner}:
        return "anyone may put files there, and this one is neither yours nor root's"
    if directory.mode & _STICKY and file.mode & _EVERYBODY_WRITES:
        return "anyone may reach it and write to it"
    return ""


def keep_trusted_path_entries(path: str, modes: Mapping[str, int], planted: Collection[str] = ()) -> str:
    """Return PATH without entries in which just anybody could put a program.

    Args:
        path: as the variable has it.
        modes: of its directories; one that is not named is kept.
        planted: directories that are open, and in which somebody has put something.

    Returns:
        Without relative entries (an empty one means the working directory), without those that are made for
        everybody's files, as the machine's directory for temporary files is, and without `planted`.
    """
    kept = (entry for entry in path.split(":") if entry.startswith("/") and entry not in planted)
    return ":".join(entry for entry in kept if not _is_public(modes.get(entry, 0)))


def restrict_umask(mask: int) -> int:
    """Return a umask under which nothing that is made can be written by everybody; a group's share in it stays."""
    return mask if mask & _EVERYBODY_WRITES else mask | 0o022


def describe_place(place: TrustedPath, owner: str) -> str:
    """Return a place for a message: "/tmp (mode 1777, owner root)"."""
    return f"{place.path} (mode {place.mode:04o}, owner {owner or place.owner})"


def _is_public(mode: int) -> bool:
    return bool(mode & _EVERYBODY_WRITES and mode & _STICKY)


@contextmanager
def restrict_surroundings() -> Iterator[None]:
    """Make nothing that everybody may write while the block runs, and search no PATH that anybody may fill."""
    before, path = os.umask(0o022), os.environ.get("PATH")
    os.umask(restrict_umask(before))
    if path is not None:
        modes = _read_modes(path)
        planted = [entry for entry, mode in modes.items() if mode & _EVERYBODY_WRITES and _holds_planted_file(entry)]
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
        RefusedError: anybody could have put it there.
    """
    import shutil  # noqa: PLC0415 (doctor looks for no program)

    found = shutil.which(name, path=variables.get("PATH"))
    if found is not None:
        hint = f"take {quote(Path(found).parent)} out of PATH, or give another program's path"
        refuse_planted(Path(found), variables, hint)
    return found


def refuse_planted(file: Path, variables: Mapping[str, str], hint: str) -> None:
    """Refuse a file that is there, and that anybody could have put there.

    Args:
        file: that would be run or obeyed.
        variables: SUDO_UID tells who called sudo.
        hint: what to do instead.

    Raises:
        RefusedError: names the file, its directory, and whose they are.
    """
    person = find_person(variables)
    for path in dict.fromkeys((file.absolute(), Path(os.path.realpath(file)))):
        with suppress(OSError):
            place, directory = inspect_path(path), inspect_path(path.parent)
            _refuse(place, directory, explain_file_distrust(place, directory, person), hint)


def make_private(directory: Path, *, durable: bool = False) -> Path:
    """Make a directory for this user alone, with those above it that are missing; one that is there stays as it is.

    What root makes below another user's directory is that user's: sudo may keep HOME, and a `~/.local` that belonged to
    root would lock its owner out.

    Args:
        durable: also force the entry of each that was made to the disk.

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
    if os.geteuid() != _ROOT or above.st_uid == _ROOT or above.st_mode & _STICKY:
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_uid == _ROOT:
            os.fchown(descriptor, above.st_uid, above.st_gid)
    finally:
        os.close(descriptor)


def _refuse(place: TrustedPath, directory: TrustedPath, objection: str, hint: str) -> None:
    if objection:
        where = f"in {describe_place(directory, name_user(directory.owner))}"
        raise RefusedError(f"{describe_place(place, name_user(place.owner))}, {where}: {objection}", hint=hint)


def _read_modes(path: str) -> dict[str, int]:
    found = {}
    for entry in path.split(":"):
        with suppress(OSError, ValueError):
            found[entry] = stat.S_IMODE(os.stat(entry).st_mode)  # noqa: PTH116 (at every start)
    return found


def _holds_planted_file(directory: str) -> bool:
    """Return whether an open directory, where programs look for `as`, `ld` and `uname`, holds another user's file."""
    person, owner = find_person(os.environ), Path(directory).stat().st_uid
    try:
        with os.scandir(directory) as entries:
            owners = {entry.stat(follow_symlinks=False).st_uid for entry in entries}
    except OSError:
        return True
    return not owners <= {*person.trusted, owner}


def inspect_path(path: Path) -> TrustedPath:
    """Look at a place, links not followed; a link cannot be written to, whatever its mode says (symlink(7))."""
    status = path.lstat()
    mode = 0 if stat.S_ISLNK(status.st_mode) else stat.S_IMODE(status.st_mode)
    return TrustedPath(path=path, mode=mode, owner=status.st_uid)


def find_person(variables: Mapping[str, str]) -> Person:
    """Find who runs this; SUDO_UID tells who called sudo."""
    before = variables.get("SUDO_UID", "")
    return Person(user=os.geteuid(), before=int(before) if before.isdecimal() else None)


def name_user(user: int) -> str:
    """Name a user of this machine; empty if no account has the number."""
    import pwd  # noqa: PLC0415 (only for a refusal)

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return ""
