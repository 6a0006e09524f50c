"""The packages of a conda environment, from its records in `conda-meta`.

A record that conda itself could not use is named, with what is wrong; the others are read all the same. Which of them
name files that matter to PIL is told by the way: it takes a search of bytes that are read anyway.
"""

import os
from pathlib import Path
from typing import Any

from fastinstall.model.conda import CondaPackage
from fastinstall.model.immutable import immutable
from fastinstall.probes.conda_glance import Fields, UnreadableRecordError, glance_at
from fastinstall.probes.conda_matters import CLOBBERED, may_matter
from fastinstall.probes.conda_urls import public_channel
from fastinstall.rules.secrets import public_text

_SUFFIX = ".json"
_DASHES = 2


@immutable
class Records:
    """What `conda-meta` holds.

    Attributes:
        packages: of every record that can be read, sorted by name.
        unreadable: the others: file name to what is wrong.
        claiming: `dist` of the packages that may name files which matter to PIL.
    """

    packages: tuple[CondaPackage, ...]
    unreadable: dict[str, str]
    claiming: frozenset[str]


def read_records(conda_meta: Path) -> Records:
    """Read all of them (about 40 us each, however many files a package has).

    Args:
        conda_meta: the directory; one that is not there holds nothing.
    """
    packages: list[CondaPackage] = []
    unreadable: dict[str, str] = {}
    claiming: set[str] = set()
    clobbered = (conda_meta.parent / CLOBBERED).is_dir()
    for name in _names(conda_meta):
        try:
            package, claims = _read(f"{conda_meta}/{name}", name, clobbered=clobbered)
        except UnreadableRecordError as error:
            unreadable[name] = str(error)
        else:
            packages.append(package)
            if claims:
                claiming.add(package.dist)
    return Records(packages=tuple(packages), unreadable=unreadable, claiming=frozenset(claiming))


def _names(conda_meta: Path) -> list[str]:
    """The records; what macOS keeps beside files of foreign file systems is none, as in conda."""
    try:
        names = os.listdir(conda_meta)  # noqa: PTH208 (four hundred paths are not worth as many objects)
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(_SUFFIX) and not name.startswith("._"))


def _read(path: str, name: str, *, clobbered: bool) -> tuple[CondaPackage, bool]:
    """A package, and whether it names files that matter."""
    if name.count("-") < _DASHES:
        raise UnreadableRecordError("its name is not NAME-VERSION-BUILD.json")
    glance = glance_at(path)
    package = _package(glance.fields)
    if package.record != name:
        raise UnreadableRecordError(f"it speaks of {package.dist}")
    return package, may_matter(glance, clobbered=clobbered)


def _package(fields: Fields) -> CondaPackage:
    subdir = _text(fields, "subdir")
    return CondaPackage(
        name=_text(fields, "name").lower(),
        version=_text(fields, "version"),
        build=_text(fields, "build"),
        build_number=_number(fields, "build_number"),
        subdir=subdir,
        channel=public_channel(_text(fields, "channel"), subdir),
        url=public_text(_text(fields, "url")),
        sha256=_text(fields, "sha256"),
        depends=_texts(fields, "depends"),
        constrains=_texts(fields, "constrains"),
    )


def _text(fields: Fields, key: str) -> str:
    found = fields.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise UnreadableRecordError(f"its {key} is not a text")
    return _printable(found)


def _texts(fields: Fields, key: str) -> tuple[str, ...]:
    found: Any = fields.get(key) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise UnreadableRecordError(f"its {key} are not a list of texts")
    return tuple(map(_printable, found))


def _number(fields: Fields, key: str) -> int:
    found = fields.get(key, 0)
    if not isinstance(found, int):
        raise UnreadableRecordError(f"its {key} is not a number")
    return int(found)


def _printable(text: str) -> str:
    """The text without halves of characters, which JSON can escape and nothing can write."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
