"""What a run takes from outside without being told: the umask, PATH, files that lie about, a cache that is there.

The rules stand in `rules.trust`; here is only looked.
"""

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from fastinstall.errors import RefusedError
from fastinstall.rules import trust
from fastinstall.rules.messages import quote
from fastinstall.system.files import sync_directory


@contextmanager
def cautious() -> Iterator[None]:
    """While the block runs, make nothing that everybody may write, and search no PATH that anybody may fill."""
    before, path = os.umask(0o022), os.environ.get("PATH")
    os.umask(trust.careful_umask(before))
    if path is not None:
        os.environ["PATH"] = trust.searched(path, _modes(path))
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
        hint = f"take {quote(Path(found).parent)} out of PATH, or name another program by its path"
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
    person = _person(variables)
    for path in dict.fromkeys((file.absolute(), Path(os.path.realpath(file)))):
        with suppress(OSError):
            place, directory = _place(path), _place(path.parent)
            _refuse(place, directory, trust.objection_to_file(place, directory, person), hint)


def stranger_in(prefix: Path) -> str:
    """Who keeps code in an environment that root would run there; empty where root alone does, or is not who asks.

    Returns:
        A name as `sudo -u` takes it.
    """
    person = trust.Person(user=os.geteuid())
    owner = trust.strangers_in(_code_of(prefix), person) if person.user == 0 else None
    return "" if owner is None else _name(owner) or f"#{owner}"


def make_private(directory: Path, *, durable: bool = False) -> Path:
    """Make a directory for this user alone, with those above it that are missing; one that is there stays as it is.

    Args:
        directory: the innermost.
        durable: also force the entry of each that was made to the disk.

    Source: XDG Base Directory Specification 0.8, "Referencing this specification": 0700.
    """
    if not directory.is_dir():
        if directory.parent != directory:
            make_private(directory.parent, durable=durable)
        directory.mkdir(0o700, exist_ok=True)
        if durable:
            sync_directory(directory.parent)
    return directory


def own_cache(cache: Path, variables: Mapping[str, str]) -> Path:
    """Our cache directory, made where it is missing and can be made.

    Raises:
        RefusedError: others could put there what would be installed.
    """
    try:
        real = Path(os.path.realpath(make_private(cache)))
        place, parent = _place(real), _place(real.parent)
    except OSError:  # whoever writes there says so
        return cache
    person = _person(variables)
    _refuse(place, parent, trust.objection_to_cache(place, parent, person), _cache_hint(place, person))
    refuse_planted(cache, variables, _cache_hint(place, person))  # where it is a link
    return cache


def _cache_hint(cache: trust.Place, person: trust.Person) -> str:
    if person.user == 0 and cache.owner == person.before:
        return "with sudo -H, root's own cache is used: sudo -H fastinstall ..."
    own = quote(cache.path / f"of-{person.user}") if cache.owner in person.trusted else "DIR"
    return f"choose another place: FASTINSTALL_CACHE_DIR={own} fastinstall ..."


def _refuse(place: trust.Place, directory: trust.Place, objection: str, hint: str) -> None:
    if objection:
        where = f"in {trust.described(directory, _name(directory.owner))}"
        raise RefusedError(f"{trust.described(place, _name(place.owner))}, {where}: {objection}", hint=hint)


def _modes(path: str) -> dict[str, int]:
    found = {}
    for entry in path.split(":"):
        with suppress(OSError, ValueError):
            found[entry] = stat.S_IMODE(os.stat(entry).st_mode)  # noqa: PTH116 (at every start)
    return found


def _code_of(prefix: Path) -> Iterator[trust.Place]:
    """What decides about the code that an environment's interpreter runs, apart from that which runs this program."""
    python = prefix / "bin/python"
    real = Path(os.path.realpath(python))
    base = () if real == Path(os.path.realpath(sys.executable)) else (real, real.parent)
    sites = sorted(prefix.glob("lib*/p*/site-packages"))
    entries = (entry for site in sites for entry in _entries(site))
    for path in (prefix, prefix / "pyvenv.cfg", python.parent, python, *base, *sites, *entries):
        with suppress(OSError):
            yield _place(path)


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _place(path: Path) -> trust.Place:
    """As it is, links not followed; a link cannot be written to, whatever its mode says (symlink(7))."""
    status = path.lstat()
    mode = 0 if stat.S_ISLNK(status.st_mode) else stat.S_IMODE(status.st_mode)
    return trust.Place(path=path, mode=mode, owner=status.st_uid)


def _person(variables: Mapping[str, str]) -> trust.Person:
    before = variables.get("SUDO_UID", "")
    return trust.Person(user=os.geteuid(), before=int(before) if before.isdecimal() else None)


def _name(user: int) -> str:
    import pwd  # noqa: PLC0415 (only for a refusal)

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return ""
