"""Record a change that another program makes: copy what it may change before it runs, then note what it did.

Copies, not links: such a program may write into a file in place, as conda does with its history.

Of `conda-meta` only what undoing needs is read: which packages are installed, and which files they claim.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import files, foreign
from fastinstall.core.errors import FailedError
from fastinstall.core.parsing import json_data
from fastinstall.journal.entries import Copied, ExternalChange, ExternalChangeBegun, ExternalChangeEnded
from fastinstall.journal.fingerprints import (
    HISTORY,
    ancestors,
    bytecode,
    digest,
    directories_below,
    files_below,
    is_bytecode,
    remember,
)

ALWAYS = (HISTORY, "conda-meta/pinned")
"""What every engine may write."""


def prepare(change: ExternalChange, prefix: Path, area: Path, work: Path) -> ExternalChangeBegun:
    """Copy what may change into `area`, force it to the disk, and describe all of it for the journal.

    Raises:
        FailedError: a path is not one inside the environment.
        OSError: as the kernel says.
    """
    announced = tuple(dict.fromkeys((*ALWAYS, *change.copies, *change.appearing)))
    _check((*announced, *change.own_places))
    on_disk = (
        *announced,
        *(path for module in announced for path in bytecode(prefix, module)),
        *(path for pattern in change.own_places for path in files_below(prefix, pattern)),
    )
    there = tuple(path for path in dict.fromkeys(on_disk) if is_file(prefix / path))
    inner = (path for pattern in change.own_places for path in directories_below(prefix, pattern))
    on_the_way = ancestors(
        (*on_disk, *(f"{directory}/x" for directory in (*_list_bytecode_directories(announced), *inner)))
    )
    return ExternalChangeBegun(
        area=area.relative_to(work).as_posix(),
        copies=tuple(_copy_all(prefix, there, area)),
        appearing=tuple(path for path in announced if not os.path.lexists(prefix / path)),
        own_places=change.own_places,
        records=names(prefix),
        created=tuple(path for path in on_the_way if not (prefix / path).is_dir()),
        directories=remember(prefix, on_the_way),
    )


def outcome(begun: ExternalChangeBegun, prefix: Path) -> ExternalChangeEnded:
    """What an external change came to, with what it brought and what it took away forced to the disk."""
    untouched = tuple(each.path for each in begun.copies if not is_bytecode(each.path) and is_as_before(each, prefix))
    own_places = (path for pattern in begun.own_places for path in files_below(prefix, pattern))
    announced = dict.fromkeys((*sorted(begun.paths), *own_places, *find_unannounced_records(begun, prefix)))
    brought = [path for path in announced if path not in untouched and is_file(prefix / path)]
    with files.sync_during(prefix / path for path in brought):
        manifest = {path: digest(prefix / path) for path in brought}
    there = (prefix / path for path in (*begun.created, *(each.path for each in begun.directories)))
    for directory in filter(Path.is_dir, there):
        files.sync_directory(directory)
    return ExternalChangeEnded(
        manifest=manifest,
        untouched=tuple(untouched),
        removed=tuple(each.path for each in begun.directories if not (prefix / each.path).is_dir()),
    )


def is_as_before(copied: Copied, prefix: Path) -> bool:
    """Whether content, mode and modification time are those that were noted."""
    path = prefix / copied.path
    if not is_file(path):
        return False
    status = path.lstat()
    looks = (stat.S_IMODE(status.st_mode), status.st_mtime_ns)
    return looks == (copied.mode, copied.mtime_ns) and digest(path) == copied.digest


def is_file(path: Path) -> bool:
    """Whether something stands there that is not a directory."""
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir())


def _copy_all(prefix: Path, paths: Iterable[str], area: Path) -> Iterator[Copied]:
    (area / "copies").mkdir(parents=True)
    (area / "gone").mkdir()
    for number, path in enumerate(paths):
        copy = area / "copies" / str(number)
        files.copy(prefix / path, copy)
        status = copy.lstat()
        yield Copied(path=path, digest=digest(copy), mode=stat.S_IMODE(status.st_mode), mtime_ns=status.st_mtime_ns)
    files.sync_tree(area)
    files.sync_directory(area.parent)


def _list_bytecode_directories(paths: Iterable[str]) -> Iterator[str]:
    """Where Python puts the bytecode of modules."""
    return ((PurePath(path).parent / "__pycache__").as_posix() for path in paths if path.endswith(".py"))


def _check(paths: Iterable[str]) -> None:
    for path in paths:
        if not _is_inside(PurePath(path)):
            raise FailedError(f"{path}: not a path inside one environment")


RECORDS = "conda-meta"


def names(prefix: Path) -> tuple[str, ...]:
    """The files that describe packages."""
    return tuple(sorted(path.name for path in (prefix / RECORDS).glob("*.json")))


def is_record(path: str) -> bool:
    """Whether a path relative to the prefix is that of such a file."""
    return PurePath(path).parent == PurePath(RECORDS) and path.endswith(".json")


def package(path: str) -> str:
    """The package that a record describes, by its file name: NAME-VERSION-BUILD.json."""
    return PurePath(path).name.rsplit("-", 2)[0]


def find_unannounced_records(begun: ExternalChangeBegun, prefix: Path) -> tuple[str, ...]:
    """Records that were to come according to nobody, with those of their files whose content is what they say."""
    known = {*begun.records, *(PurePath(path).name for path in begun.paths)}
    owned = {path for name in names(prefix) if name in begun.records for path in claims(prefix, name)}
    found: list[str] = []
    for name in names(prefix):
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
    """Records that nobody has announced, of packages of which another one returns, with all the files that they claim.

    Args:
        records: all records, by their names.
        known: names of records that are of before, or that we brought in.
        returning: records that come back, relative to the prefix.
    """
    packages = {package(path) for path in returning}
    for name, file in records.items():
        if name not in known and package(name) in packages:
            yield f"{RECORDS}/{name}"
            yield from _read_claims(file)


def claims(prefix: Path, name: str) -> dict[str, str]:
    """The files that a record claims, and the content that it says they have (empty if it does not say).

    A record that cannot be read claims nothing. Source: conda's PrefixRecord (`files`, `paths_data`).
    """
    return _read_claims(prefix / RECORDS / name)


def _read_claims(record: Path) -> dict[str, str]:
    data = _read(record)
    paths = {entry["_path"]: entry for entry in _list_described(data)}
    claimed = (*paths, *(path for path in data.get("files") or () if isinstance(path, str)))
    return {path: _format_digest(paths.get(path, {})) for path in claimed if _is_inside(PurePath(path))}


def is_readable(prefix: Path, name: str) -> bool:
    """Whether a record is what conda would understand."""
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


def _is_inside(path: PurePath) -> bool:
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _format_digest(entry: dict[str, Any]) -> str:
    found = entry.get("sha256_in_prefix") or entry.get("sha256")
    return f"sha256:{found}" if found else ""


def _digest_content(path: Path) -> str:
    return digest(path) if path.is_file() and not path.is_symlink() else "none"
