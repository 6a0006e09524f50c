"""Read from conda-meta what undo needs: which packages are installed, and which files their records claim."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.parsing import json_data
from fastinstall.journal.entries import ExternalChangeBegun
from fastinstall.journal.fingerprints import digest_entry

RECORDS = "conda-meta"


def list_record_names(prefix: Path) -> tuple[str, ...]:
    """Return the file names of the records in conda-meta, sorted."""
    return tuple(sorted(path.name for path in (prefix / RECORDS).glob("*.json")))


def is_record(path: str) -> bool:
    """Return whether a path, relative to the prefix, is a conda package's record."""
    return PurePath(path).parent == PurePath(RECORDS) and path.endswith(".json")


def package(path: str) -> str:
    """Return the package name in a record's file name.

    >>> package("conda-meta/libjpeg-turbo-3.1.0-hb9d3cd8_0.json")
    'libjpeg-turbo'
    """
    return PurePath(path).name.rsplit("-", 2)[0]


def find_unannounced_records(begun: ExternalChangeBegun, prefix: Path) -> tuple[str, ...]:
    """Return paths of the records that an external change added unannounced, and of the files that they claim.

    A file is included only if its content matches the record and no earlier record claims the file.
    """
    known = {*begun.records, *(PurePath(path).name for path in begun.paths)}
    owned = {path for name in list_record_names(prefix) if name in begun.records for path in claims(prefix, name)}
    found: list[str] = []
    for name in list_record_names(prefix):
        if name not in known:
            claimed = claims(prefix, name)
            found += [
                path for path, said in claimed.items() if path not in owned and said == _digest_content(prefix / path)
            ]
            found.append(f"{RECORDS}/{name}")
    return tuple(found)


def find_foreign_records(
    records: Mapping[str, Path], known: Collection[str], returning: Collection[str]
) -> Iterator[str]:
    """For each package whose previous record undo restores, yield its unknown records, and the files that these claim.

    Args:
        records: paths of all records, by file name.
        known: file names of records that the transaction moved or announced.
        returning: paths, relative to the prefix, of the records that undo restores.
    """
    packages = {package(path) for path in returning}
    for name, file in records.items():
        if name not in known and package(name) in packages:
            yield f"{RECORDS}/{name}"
            yield from _read_claims(file)


def claims(prefix: Path, name: str) -> dict[str, str]:
    """Return the digests of the files that a record claims, by path; a digest is empty if the record has none.

    The result is empty if the record cannot be read. Source: conda's PrefixRecord (`files`, `paths_data`).
    """
    return _read_claims(prefix / RECORDS / name)


def _read_claims(record: Path) -> dict[str, str]:
    data = _read(record)
    paths = {entry["_path"]: entry for entry in _list_described(data)}
    claimed = (*paths, *(path for path in data.get("files") or () if isinstance(path, str)))
    return {path: _format_digest(paths.get(path, {})) for path in claimed if is_inside(PurePath(path))}


def is_readable(prefix: Path, name: str) -> bool:
    """Return whether a record exists and is a JSON object of the form that conda reads."""
    return bool(_read(prefix / RECORDS / name))


def _read(file: Path) -> dict[str, Any]:
    try:
        data = json_data(foreign.read_bytes(file))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) and isinstance(data.get("files") or [], list) else {}


def _list_described(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    described = data.get("paths_data")
    entries = described.get("paths") if isinstance(described, dict) else ()
    return (entry for entry in entries or () if isinstance(entry, dict) and isinstance(entry.get("_path"), str))


def is_inside(path: PurePath) -> bool:
    """Return whether a path, relative to a prefix, stays inside it."""
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _format_digest(entry: dict[str, Any]) -> str:
    found = entry.get("sha256_in_prefix") or entry.get("sha256")
    return f"sha256:{found}" if found else ""


def _digest_content(path: Path) -> str:
    return digest_entry(path) if path.is_file() and not path.is_symlink() else "none"
