"""Whom a place on disk can be trusted to: what anybody could have put there is neither run nor obeyed.

Judged is who could have put a file where it is found, not how tidy a machine is. Where everybody may write to
everything, as in images for CI that open `/opt` for all, files still belong to root or to the user, and count.
"""

from collections.abc import Iterable, Mapping
from pathlib import PurePath

from fastinstall.model.immutable import immutable

_ROOT = 0
_EVERYBODY_WRITES = 0o002
_OTHERS_ENTER = 0o011
_STICKY = 0o1000


@immutable
class Place:
    """A file or directory, and who rules over it.

    Attributes:
        path: absolute.
        mode: permissions with the sticky bit.
        owner: user ID.
    """

    path: PurePath
    mode: int
    owner: int


@immutable
class Person:
    """Who runs this.

    Attributes:
        user: effective user ID.
        before: the user who called sudo, or None if nobody did.
    """

    user: int
    before: int | None = None

    @property
    def trusted(self) -> frozenset[int]:
        """Whose files are as good as one's own."""
        return frozenset(each for each in (_ROOT, self.user, self.before) if each is not None)


def objection_to_file(file: Place, directory: Place, person: Person) -> str:
    """Why a file is not to be run or obeyed where it was found; empty if it is.

    Another user's file is an objection only where everybody may write: elsewhere somebody has made that user
    responsible (software of a cluster, a project's directory that a group shares).

    Args:
        file: what was found; of a symbolic link, the link itself.
        directory: where it lies.
        person: who would run it.
    """
    if not directory.mode & _EVERYBODY_WRITES:
        return ""
    if file.owner not in {*person.trusted, directory.owner}:
        return "everybody may put files there, and this one is neither yours nor root's"
    if directory.mode & _STICKY and file.mode & _EVERYBODY_WRITES:
        return "everybody may come there, and everybody may write to it"
    return ""


def strangers_in(places: Iterable[Place], person: Person) -> int | None:
    """Whose code would have root's rights if it were run unasked; None where nobody's, or root does not ask.

    Who called sudo is no exception: a command that looks everywhere is no consent to run what lies there.
    """
    if person.user != _ROOT:
        return None
    return next((place.owner for place in places if place.owner != _ROOT), None)


def objection_to_cache(cache: Place, parent: Place, person: Person) -> str:
    """Why nothing is to be taken from a directory that wheels and compilers are kept in; empty if it may be."""
    if cache.mode & _EVERYBODY_WRITES and parent.mode & _OTHERS_ENTER:
        return "everybody may write there, and what lies there is installed"
    if person.user == _ROOT and person.before not in (None, _ROOT) and cache.owner == person.before:
        return "it belongs to the user who called sudo, and root would leave files there that this user cannot change"
    return objection_to_file(cache, parent, person)


def searched(path: str, modes: Mapping[str, int]) -> str:
    """PATH without entries in which just anybody could put a program.

    Args:
        path: as the variable has it.
        modes: of its directories; one that is not named is kept.

    Returns:
        Without relative entries (an empty one means the working directory), and without those that are made for
        everybody's files, as the machine's directory for temporary files is.
    """
    return ":".join(entry for entry in path.split(":") if entry.startswith("/") and not _is_public(modes.get(entry, 0)))


def careful_umask(mask: int) -> int:
    """A umask under which nothing that is made can be written by everybody; a group's share in it stays."""
    return mask if mask & _EVERYBODY_WRITES else mask | 0o022


def described(place: Place, owner: str) -> str:
    """A place for a message: "/tmp (mode 1777, owner root)"."""
    return f"{place.path} (mode {place.mode:04o}, owner {owner or place.owner})"


def _is_public(mode: int) -> bool:
    return bool(mode & _EVERYBODY_WRITES and mode & _STICKY)
