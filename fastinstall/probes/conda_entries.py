"""The files that a conda package claims, out of its record, as far as they matter to PIL."""

from collections.abc import Callable, Iterator
from typing import Any

from fastinstall.model.immutable import immutable
from fastinstall.probes.conda_glance import Fields

_BYTECODE = (".pyc", ".pyo")
_PLACES = {"site-packages/": "", "python-scripts/": "bin/"}  # where a noarch package means files to be put


@immutable
class Entry:
    """A file as a package claims it.

    Attributes:
        path: where it is, relative to the prefix.
        wanted: where the package wants it; differs where py-rattler has put it aside for another package's.
        size: in bytes; None if unknown, or where the prefix was written into it.
        sha256: of its content, hexadecimal; empty if unknown.
        link: it is a symbolic link.
        link_sha256: of the text of the link, where py-rattler has recorded it; else empty.
    """

    path: str
    wanted: str
    size: int | None = None
    sha256: str = ""
    link: bool = False
    link_sha256: str = ""


def claimed_entries(record: Fields, site: str, wanted: Callable[[str], bool]) -> tuple[Entry, ...]:
    """What a record claims, bytecode and directories aside; whatever in it is malformed is passed over.

    Args:
        record: all its fields.
        site: the site-packages of the environment, relative to the prefix; records of noarch packages do not tell.
        wanted: which files are asked for, by their paths.
    """
    paths = record.get("paths_data")
    described = paths.get("paths") if isinstance(paths, dict) else None
    entries = {entry.path: entry for entry in _described(described, site, wanted)}
    listed = record.get("files")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else list(entries)
    claimed = (name for name in dict.fromkeys(names) if wanted(name) and not name.endswith(_BYTECODE))
    return tuple(entries.get(name) or Entry(path=name, wanted=name) for name in claimed)


def _described(listed: object, site: str, wanted: Callable[[str], bool]) -> Iterator[Entry]:
    for each in listed if isinstance(listed, list) else ():
        path = each.get("_path") if isinstance(each, dict) else None
        if isinstance(path, str) and wanted(placed := _placed(path, site)):
            yield _entry(each, placed)


def _placed(path: str, site: str) -> str:
    """Where a file of a noarch package is: conda records where the package meant it to be."""
    for place, target in _PLACES.items():
        if path.startswith(place):
            return f"{target or site + '/'}{path.removeprefix(place)}"
    return path


def _entry(each: dict[str, Any], path: str) -> Entry:
    link = each.get("path_type") == "softlink"
    size, sha256, in_prefix = each.get("size_in_bytes"), _digest(each, "sha256"), _digest(each, "sha256_in_prefix")
    rewritten = "prefix_placeholder" in each or in_prefix not in ("", sha256)
    original = each.get("original_path")
    return Entry(
        path=path,
        wanted=original if isinstance(original, str) else path,
        size=size if isinstance(size, int) and not rewritten and not link else None,
        sha256=sha256 if link else in_prefix or ("" if rewritten else sha256),
        link=link,
        link_sha256=in_prefix if link and in_prefix != sha256 else "",
    )


def _digest(each: dict[str, Any], key: str) -> str:
    found = each.get(key)
    return found if isinstance(found, str) else ""
