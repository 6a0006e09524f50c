"""Refuse to run other users' code as root in an environment that nobody named.

What an interpreter runs is read off its files, none of them executed: its own installation, what lies below `lib`, at
any depth, and what `.pth` files, links and editable installations lead to. Programs that root starts by name are judged
more mildly (`core.surroundings`). One `stat` per file, some 3 microseconds, and only for root.
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
    """Name a user other than root whose code an environment's interpreter would run.

    Who called sudo is no exception: a command that looks everywhere is no consent to run what lies there.

    Returns:
        A name as `sudo -u` takes it; empty if all of it is root's, or somebody else asks.
    """
    return _name_stranger(_Search().list_owners(prefix))


def find_stranger_in(places: Iterable[Path]) -> str:
    """Name a user other than root who owns one of these directories or archives, one above it, or an entry of it.

    Returns:
        As `find_stranger`.
    """
    search = _Search()
    return _name_stranger(owner for place in places for owner in search.list_owners_of_entries(place))


def _name_stranger(owners: Iterator[int]) -> str:
    """Return the first owner that is not root, by name; empty if there is none, or if this is not root."""
    if os.geteuid() != _ROOT:
        return ""
    own = (_ROOT, Path("/").stat().st_uid)  # root's number in a user namespace
    owner = next((owner for owner in owners if owner not in own), None)
    return "" if owner is None else name_user(owner) or f"#{owner}"


class _Search:
    """A walk over what an interpreter runs, which sees each place once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def list_owners(self, prefix: Path) -> Iterator[int]:
        """Yield the owners of all code, the likeliest first."""
        python = prefix / "bin/python"
        for path in (prefix / "pyvenv.cfg", python.parent, python):
            yield from self._look(path)
        for library in sorted(prefix.glob("lib*")):
            yield from self._look(library, deep=True)
        for site in sorted(prefix.glob("lib*/p*/site-packages")):
            for path in _list_further_places(site):
                yield from self._look(path, deep=True)
        real = Path(os.path.realpath(python))
        if real != Path(os.path.realpath(sys.executable)):  # that one runs already
            yield from self._list_owners_of_base(real, prefix)

    def list_owners_of_entries(self, place: Path) -> Iterator[int]:
        """Yield the owners of a place, of those above it, and of what is directly in it."""
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
        """Yield the owners of a place and of the directories that it lies in, and of what it leads to."""
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
        except OSError:  # no directory, or one that nobody may read
            return
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            yield status.st_uid
            if stat.S_ISDIR(status.st_mode):
                yield from self._walk(entry.path)
            elif stat.S_ISLNK(status.st_mode):
                yield from self._look(Path(entry.path), deep=True)


def _list_further_places(site: Path) -> Iterator[Path]:
    """Yield where `.pth` files and editable installations (PEP 610) lead from a directory of packages."""
    for file in sorted(site.glob("*.pth")):
        for line in foreign.text_or_empty(file).splitlines():
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                yield site / line.strip()
    for file in sorted(site.glob("*.dist-info/direct_url.json")):
        with suppress(ValueError, AttributeError, TypeError):
            source = json_data(foreign.text_or_empty(file))
            if source.get("dir_info", {}).get("editable"):
                yield Path(unquote(urlsplit(source.get("url", "")).path))
