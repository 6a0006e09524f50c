"""What conda prints with `--json`: one document, several, warnings and progress in between, or nothing at all."""

import json
from collections.abc import Iterator
from typing import Any

from fastinstall.installers.conda.records import package_of
from fastinstall.model.conda import CondaPackage
from fastinstall.model.immutable import immutable

Document = dict[str, Any]
_DECODER = json.JSONDecoder()
_SUFFIXES = (".conda", ".tar.bz2")


@immutable
class Actions:
    """What a transaction comes to.

    Attributes:
        linked: what comes; what conda does not tell of a package is empty.
        unlinked: what goes, as name, version and build.
    """

    linked: tuple[CondaPackage, ...]
    unlinked: tuple[CondaPackage, ...]


def documents_in(text: str) -> tuple[Document, ...]:
    """Every JSON object that is printed, whatever stands around it."""
    return tuple(_documents(text))


def error_in(documents: tuple[Document, ...]) -> Document | None:
    """The document that tells of a failure."""
    failures = (each for each in documents if "exception_name" in each or each.get("error"))
    return next((each for each in failures if each.get("exception_name") != "DryRunExit"), None)


def actions_in(documents: tuple[Document, ...]) -> Actions:
    """Return what the last reported transaction would do, if any."""
    told = [each["actions"] for each in documents if each.get("actions")]
    parts = _parts(told[-1]) if told else []
    fetched = {package.dist: package for part in parts for package in _packages(part.get("FETCH"))}
    linked = (package for part in parts for package in _packages(part.get("LINK")))
    unlinked = (package for part in parts for package in _packages(part.get("UNLINK")))
    return Actions(linked=tuple(fetched.get(each.dist, each) for each in linked), unlinked=tuple(unlinked))


def _documents(text: str) -> Iterator[Document]:
    position = text.find("{")
    while position >= 0:
        try:
            found, end = _DECODER.raw_decode(text, position)
        except ValueError:
            end = position + 1
        else:
            yield found
        position = text.find("{", end)


def _parts(actions: object) -> list[Document]:
    """Old versions of conda give a list of what others give at once."""
    several = actions if isinstance(actions, list) else [actions]
    return [each for each in several if isinstance(each, dict)]


def _packages(entries: object) -> list[CondaPackage]:
    several = entries if isinstance(entries, list) else []
    found = (_package(each) for each in several)
    return [each for each in found if each is not None]


def _package(entry: object) -> CondaPackage | None:
    if isinstance(entry, str):
        return _named(entry)
    if not isinstance(entry, dict):
        return None
    if entry.get("name"):
        return package_of({"subdir": entry.get("platform"), **entry, **_channel(entry)})
    return _named(str(entry.get("dist_name", "")))


def _channel(entry: Document) -> Document:
    return {"channel": entry["base_url"]} if entry.get("base_url") else {}


def _named(text: str) -> CondaPackage | None:
    """Of "conda-forge/linux-64::pillow-13.0.0-h0_0", or a file's name."""
    place, _, dist = text.rpartition("::")
    for suffix in _SUFFIXES:
        dist = dist.removesuffix(suffix)
    name, _, build = dist.rpartition("-")
    name, _, version = name.rpartition("-")
    channel, _, subdir = place.rpartition("/")
    return CondaPackage(name=name, version=version, build=build, channel=channel, subdir=subdir) if name else None
