"""Open fastinstall's cache directory, after a check that no other user could have put files into it.

Files of the cache are run, compiled against and installed. So the check covers every directory and link from "/" to
the cache, and the cache's entries: a user who owns one of these, or may rename entries in one, can replace cached
files. For programs and settings, the rules are less strict (`core.surroundings`), because their owners are responsible
for them.

Two common cases are trusted: 1. paths below a directory that no other user may enter; 2. a directory mounted into a
container, if its owner has no account in the container.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.surroundings import (
    Person,
    TrustedPath,
    describe_place,
    find_person,
    inspect_path,
    make_private,
    name_user,
)
from fastinstall.core.values import immutable

_ROOT = 0
_OTHERS_ENTER = stat.S_IXGRP | stat.S_IXOTH
# symbolic links have these bits set (mode 0777), so they match as well: symlink(7)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LINKS = 40  # maximum number of links that the kernel follows: path_resolution(7)
_DEPTH = 2  # check the cache's entries, and the entries of its subdirectories, but nothing deeper
_ACL = "system.posix_acl_access"


@immutable
class PathStep:
    """A directory or link on the way to the cache, or an entry of the cache.

    Attributes:
        place: its path, mode and owner.
        is_link: whether it is a symbolic link.
        is_shared: whether its group bits grant write access to others: to members of the group or of an access list.
        is_mounted: whether it is a mount point.
        has_account: for a mount point, whether its owner has an account on this machine; always True for other paths.
    """

    place: TrustedPath
    is_link: bool = False
    is_shared: bool = False
    is_mounted: bool = False
    has_account: bool = True


Distrust = tuple[TrustedPath, str]
"""A directory, link or entry that is not safe, and the reason why, as a clause for the message."""


def find_distrust(way: Sequence[PathStep], person: Person, entries: Sequence[PathStep] = ()) -> Distrust | None:
    """Return the first directory, link or entry that another user controls, with the reason; None if there is none.

    Args:
        way: all steps from "/" to the cache, or to a link on the way to it.
        person: the user who runs this, and the caller of sudo.
        entries: the entries of the directory at the end of `way`.
    """
    # The owner of "/" could replace everything. In a user namespace, this owner is root under another ID.
    unmapped = {way[0].place.owner}
    owners, is_closed, last = {_ROOT, person.user}, False, len(way) - 1
    for number, step in enumerate((*way, *entries)):
        if step.is_mounted and step.place.owner != person.before and (is_closed or not step.has_account):
            owners.add(step.place.owner)
        reason = _explain_owner(step, owners | (unmapped if number < last else set()), person)
        if not reason and not is_closed:
            reason = _explain_mode(step, is_passed=number < last)
        if reason:
            return step.place, reason
        is_closed = is_closed or not (step.is_link or step.place.mode & _OTHERS_ENTER)
    return None


def open_cache(cache: Path, variables: Mapping[str, str]) -> Path:
    """Return the cache directory after checking it; create it if it is missing and this user can create it.

    Args:
        cache: the directory.
        variables: the environment; SUDO_UID identifies the caller of sudo.

    Raises:
        RefusedError: other users could put files into the cache, which would be installed; nothing was created.
    """
    person = find_person(variables)
    if not cache.is_dir():
        _refuse_distrusted(cache, person)
        with suppress(OSError):  # the first write into the cache reports the error
            make_private(cache)
    _refuse_distrusted(cache, person)
    return cache


def find_trusted_owners(cache: Path) -> frozenset[int]:
    """Return the user IDs whose files are trusted in an open cache: root, this user, and the cache's owner."""
    return frozenset((_ROOT, os.geteuid(), cache.stat().st_uid))


def _explain_owner(step: PathStep, owners: set[int], person: Person) -> str:
    owner = step.place.owner
    if person.user == _ROOT and person.before not in (None, _ROOT) and owner == person.before:
        return "it belongs to the user who ran sudo, who could not change root's files there"
    return "" if owner in owners else "it belongs to another user, whose files would be run and installed"


def _explain_mode(step: PathStep, *, is_passed: bool) -> str:
    mode = step.place.mode
    if mode & stat.S_ISVTX and is_passed:
        return ""  # like /tmp: others can add entries, but not replace those of this user
    if mode & stat.S_IWOTH:
        return "anyone may write there, and its files would be installed"
    return "its group may write there, and its files would be installed" if step.is_shared else ""


def _refuse_distrusted(cache: Path, person: Person) -> None:
    distrust = _judge(cache, person)
    if distrust is not None:
        place, reason = distrust
        described = describe_place(place, name_user(place.owner))
        message = f"{cache}: this cache is not used, because of {described}: {reason}"
        raise RefusedError(message, hint=_make_hint(place, person))


def _make_hint(distrusted: TrustedPath, person: Person) -> str:
    if person.user == _ROOT and distrusted.owner == person.before:
        return "with sudo -H, root's own cache is used: sudo -H fastinstall ..."
    offered = (Path(distrusted.path, f"of-{person.user}"), Path(f"/var/tmp/fastinstall-{person.user}"))  # noqa: S108 (checked like every cache)
    usable = (path for path in offered if os.access(path.parent, os.W_OK) and _judge(path, person) is None)
    named = next(map(quote, usable), "DIR")
    return f"choose another place: FASTINSTALL_CACHE_DIR={named} fastinstall ..."


def _judge(cache: Path, person: Person) -> Distrust | None:
    real = Path(os.path.realpath(cache))
    entries = tuple(_list_entries(real))
    moved = tuple(Path(entry.place.path) for entry in entries if entry.is_link)
    judged = [find_distrust(way, person) for each in (cache, *moved) for way in _list_ways(each)]
    judged += [find_distrust(_look_along(real), person, entries)] if real.is_dir() else []
    return next(filter(None, judged), None)


def _list_ways(path: Path) -> Iterator[tuple[PathStep, ...]]:
    """Yield the steps from "/" to each link on a path, then the steps to the path's final target.

    If the end of the path does not exist yet, the missing part counts as one private directory of this user.
    """
    current, todo = Path("/"), list(reversed(path.absolute().parts[1:]))
    followed = 0
    while todo and followed < _LINKS and os.path.lexists(current / todo[-1]):
        part = todo.pop()
        if part == "..":
            current = current.parent
        elif (current / part).is_symlink():
            yield _look_along(current / part)
            followed += 1
            target = (current / part).readlink()
            current = Path("/") if target.is_absolute() else current
            todo += reversed([each for each in target.parts if each != "/"])
        else:
            current = current / part
    missing = TrustedPath(path=current.joinpath(*reversed(todo)), mode=0o700, owner=os.geteuid())
    yield (*_look_along(current), *((PathStep(place=missing),) if todo else ()))


def _look_along(path: Path) -> tuple[PathStep, ...]:
    return tuple(_look(each) for each in (*reversed(path.parents), path))


def _list_entries(directory: Path, depth: int = _DEPTH) -> Iterator[PathStep]:
    """Yield the entries that may be unsafe: those of other users, and those that group or others may write to."""
    own = (_ROOT, os.geteuid())
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another run may have deleted its temporary file meanwhile
                status = entry.stat(follow_symlinks=False)
                if status.st_uid not in own or status.st_mode & _OTHERS_WRITE:
                    yield _look(Path(entry.path))
                if depth > 1 and entry.is_dir():
                    yield from _list_entries(Path(entry.path), depth - 1)


def _look(path: Path) -> PathStep:
    place, status = inspect_path(path), path.lstat()
    is_mounted = status.st_dev != path.parent.stat().st_dev
    return PathStep(
        place=place,
        is_link=stat.S_ISLNK(status.st_mode),
        is_shared=bool(place.mode & stat.S_IWGRP) and _has_other_members(path, status.st_gid),
        is_mounted=is_mounted,
        has_account=not is_mounted or bool(name_user(place.owner)),
    )


def _has_other_members(path: Path, group: int) -> bool:
    """Return whether a file's group has members other than this user; True if the file has an access list.

    The result is False for root's group, and for a group without a name on this machine, which Kubernetes, for example,
    gives to volumes. A group with the user's own name is private by convention (USERGROUPS_ENAB in login.defs(5)),
    unless it lists other members. For every other group, the result is True.
    """
    import grp  # slow to import; doctor opens no cache

    with suppress(OSError):
        os.getxattr(path, _ACL)
        return True
    try:
        entry = grp.getgrgid(group)
    except KeyError:
        return False
    own = name_user(os.geteuid())
    return group != _ROOT and (entry.gr_name != own or bool(set(entry.gr_mem) - {own}))
