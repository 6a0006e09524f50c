"""Find other users' code that root would run by examining environments that root did not name.

Nothing is executed: the owners of all files that the interpreter could run are checked. These files are: 1. the
interpreter's own installation; 2. everything below the environment's `lib`; 3. the targets of `.pth` files, links and
editable installations. Programs that root starts by name are judged less strictly (`core.surroundings`). The check
costs one `stat` per file, some 3 microseconds, and is made only for root.
"""

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fastinstall.core import foreign
from fastinstall.core.parsing import json_data
from fastinstall.core.surroundings import name_user

_ROOT = 0
_HOME = re.compile(r"^home\s*=\s*(.+?)\s*$", re.MULTILINE)


def find_stranger(prefix: Path) -> str:
    """Return a user other than root whose code an environment's interpreter would run.

    The caller of sudo counts as such a user: examining all environments is not consent to running their code as root.

    Returns:
        The user, as `sudo -u` takes it; empty if root owns all of the code, or if this process does not run as root.
    """
    return _name_stranger(_Search().list_owners(prefix))


def find_stranger_in(places: Iterable[Path]) -> str:
    """Return a user other than root who owns one of these paths, a parent of one, or an entry in one.

    Args:
        places: paths of directories or archives.

    Returns:
        The user, as `sudo -u` takes it; empty if root owns all of them, or if this process does not run as root.
    """
    search = _Search()
    return _name_stranger(owner for place in places for owner in search.list_owners_of_entries(place))


def _name_stranger(owners: Iterator[int]) -> str:
    """Return the name of the first owner other than root, or "#" and the ID if the owner has no name.

    The result is empty if there is no such owner, or if this process does not run as root.
    """
    if os.geteuid() != _ROOT:
        return ""
    own = (_ROOT, Path("/").stat().st_uid)  # in a user namespace, root's files may have another ID
    owner = next((owner for owner in owners if owner not in own), None)
    return "" if owner is None else name_user(owner) or f"#{owner}"


class _Search:
    """A walk over the files that an interpreter may run; it visits each path once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def list_owners(self, prefix: Path) -> Iterator[int]:
        """Yield the owners of all code of an environment; paths that most likely belong to other users come first."""
        python = prefix / "bin/python"
        for path in (prefix / "pyvenv.cfg", python.parent, python):
            yield from self._look(path)
        for library in sorted(prefix.glob("lib*")):
            yield from self._look(library, deep=True)
        for site in sorted(prefix.glob("lib*/p*/site-packages")):
            for path in _list_further_places(site):
                yield from self._look(path, deep=True)
        real = Path(os.path.realpath(python))
        if real != Path(os.path.realpath(sys.executable)):  # our own interpreter needs no check: it is running already
            yield from self._list_owners_of_base(real, prefix)

    def list_owners_of_entries(self, place: Path) -> Iterator[int]:
        """Yield the owners of a path, of its parents, and of its direct entries."""
        yield from self._look(place)
        for name in foreign.list_names(place):
            with suppress(OSError):
                yield (place / name).lstat().st_uid

    def _list_owners_of_base(self, python: Path, prefix: Path) -> Iterator[int]:
        homes = _HOME.findall(foreign.text_or_empty(prefix / "pyvenv.cfg"))
        yield from self._look(python)
        for home in dict.fromkeys((python.parent, *map(Path, homes))):
            yield from self._look(home)
            for library in sorted(home.parent.glob("lib*/python3*")):
                yield from self._look(library, deep=True)
            for library in sorted(home.parent.glob("lib*/libpython*")):
                yield from self._look(library)

    def _look(self, path: Path, *, deep: bool = False) -> Iterator[int]:
        """Yield the owners of a path, of its resolved target, and of all their parent directories.

        Args:
            path: the path; it may be missing.
            deep: also yield the owners of everything below the target.
        """
        for place in dict.fromkeys((str(path.absolute()), os.path.realpath(path))):
            parents = (str(parent) for parent in Path(place).parents)
            for each in (place, *parents):
                if each not in self._seen:
                    self._seen.add(each)
                    with suppress(OSError):
                        yield os.lstat(each).st_uid
        if deep:
            yield from self._walk(os.path.realpath(path))

    def _walk(self, directory: str) -> Iterator[int]:
        if f"{directory}/" in self._seen:
            return
        self._seen.add(f"{directory}/")
        try:
            with os.scandir(directory) as scanned:
                entries = list(scanned)
        except OSError:  # not a directory, or not readable
            return
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            yield status.st_uid
            if stat.S_ISDIR(status.st_mode):
                yield from self._walk(entry.path)
            elif stat.S_ISLNK(status.st_mode):
                yield from self._look(Path(entry.path), deep=True)


def _list_further_places(site: Path) -> Iterator[Path]:
    """Yield the paths that `.pth` files and editable installations (PEP 610) of a site-packages directory refer to."""
    for file in sorted(site.glob("*.pth")):
        for line in foreign.text_or_empty(file).splitlines():
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                yield site / line.strip()
    for file in sorted(site.glob("*.dist-info/direct_url.json")):
        with suppress(ValueError, AttributeError, TypeError):
            source = json_data(foreign.text_or_empty(file))
            if source.get("dir_info", {}).get("editable"):
                yield Path(unquote(urlsplit(source.get("url", "")).path))
