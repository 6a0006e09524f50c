"""Find which packages claim PIL's files in a conda environment, and from which package a shared file comes.

Claims come from the records of conda packages and from the RECORD of pip's distributions (source: PyPA, "Recording
installed projects"). Files are compared by size, by hash, and by the targets of symbolic links.
"""

import hashlib
import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.journal.conda_meta import is_inside
from fastinstall.model.conda import CondaClaim, CondaClash
from fastinstall.model.facts import Distribution
from fastinstall.observe.conda.records import CondaRecords, Fields, UnreadableRecordError, matters, read_all_fields
from fastinstall.observe.stack import decode_digest, digest_file, read_rows

_BYTECODE = (".pyc", ".pyo")
TELLING = (".dist-info/INSTALLER", ".dist-info/RECORD", ".dist-info/METADATA")
# SHA-256 of an empty file; packages record it for a dangling link.
_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@immutable
class ClaimedFile:
    """A file that a package claims, as the package's record describes it.

    Attributes:
        path: the file's path, relative to the prefix.
        wanted: the file's path in the package. It differs from `path` if py-rattler moved the file aside because
            another package contains the same path.
        size: the file's size in bytes; None if unknown, for a link, or if conda wrote the prefix into the file.
        sha256: SHA-256 of the file's content, hexadecimal; empty if unknown.
        link: whether the file is a symbolic link.
        link_sha256: SHA-256 of the link's text, if py-rattler recorded it; else empty.
    """

    path: str
    wanted: str
    size: int | None = None
    sha256: str = ""
    link: bool = False
    link_sha256: str = ""


def list_claimed_files(record: Fields, site: str, *, everything: bool) -> tuple[ClaimedFile, ...]:
    """List the files that a record claims, without bytecode and directories; malformed entries are skipped.

    Args:
        record: all fields of the record, parsed.
        site: the environment's site-packages, relative to the prefix; needed because paths of noarch packages begin
            with plain "site-packages/".
        everything: if True, list all files; otherwise, only those that are relevant to PIL or show who installed a
            distribution (`TELLING`).
    """

    def counts(path: str) -> bool:
        return (everything or matters(path) or path.endswith(TELLING)) and is_inside(PurePath(path))

    paths = record.get("paths_data")
    described = paths.get("paths") if isinstance(paths, dict) else None
    entries: dict[str, ClaimedFile] = {}
    for each in described if isinstance(described, list) else ():
        path = each.get("_path") if isinstance(each, dict) else None
        if isinstance(path, str) and counts(placed := _resolve_noarch_path(path, site)):
            entries[placed] = _make_claimed_file(each, placed)
    listed = record.get("files")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else list(entries)
    claimed = (name for name in dict.fromkeys(names) if counts(name) and not name.endswith(_BYTECODE))
    return tuple(entries.get(name) or ClaimedFile(path=name, wanted=name) for name in claimed)


def _resolve_noarch_path(path: str, site: str) -> str:
    """Return a recorded path relative to the prefix; records of noarch packages have paths inside the package."""
    for place, target in (("site-packages/", f"{site}/"), ("python-scripts/", "bin/")):
        if path.startswith(place):
            return target + path.removeprefix(place)
    return path


def _make_claimed_file(each: dict[str, Any], path: str) -> ClaimedFile:
    link = each.get("path_type") == "softlink"
    texts = {key: found for key, found in each.items() if isinstance(found, str)}
    wanted = texts.get("original_path", path)
    size, sha256, in_prefix = each.get("size_in_bytes"), texts.get("sha256", ""), texts.get("sha256_in_prefix", "")
    rewritten = "prefix_placeholder" in each or in_prefix not in ("", sha256)
    return ClaimedFile(
        path=path,
        wanted=wanted if is_inside(PurePath(wanted)) else path,
        size=size if isinstance(size, int) and not rewritten and not link else None,
        sha256=sha256 if link else in_prefix or ("" if rewritten else sha256),
        link=link,
        link_sha256=in_prefix if link and in_prefix != sha256 else "",
    )


class FilesOfPrefix:
    """The files of an environment; each file is read once, however many packages claim it."""

    def __init__(self, prefix: Path) -> None:
        self._prefix = prefix
        self._digests: dict[str, str] = {}

    def is_as_recorded(self, entry: ClaimedFile, path: str, own: frozenset[str]) -> bool:
        """Return whether the file at `path` matches an entry of a record; False for an unreadable file.

        Args:
            entry: the record's entry.
            path: path of the file, relative to the prefix.
            own: paths of all files that the entry's package claims.
        """
        place = f"{self._prefix}/{path}"
        try:
            if entry.link and os.path.islink(place):  # noqa: PTH114 (a hundred Path objects would take too long)
                return self._is_own_link(entry, path, own)
            status = os.stat(place)  # noqa: PTH116 (a hundred Path objects would take too long)
            if not stat.S_ISREG(status.st_mode) or entry.size not in (None, status.st_size):
                return False
            return self._digest(path) == entry.sha256 if entry.sha256 else not entry.link
        except (OSError, ValueError):
            return False

    def _is_own_link(self, entry: ClaimedFile, path: str, own: frozenset[str]) -> bool:
        """Return whether a symbolic link matches its record, judged by its text, its target or the target's hash."""
        target = os.readlink(f"{self._prefix}/{path}")  # noqa: PTH115 (a Path object would take longer)
        if entry.link_sha256:
            return hashlib.sha256(os.fsencode(target)).hexdigest() == entry.link_sha256
        if os.path.normpath(f"./{path.rpartition('/')[0]}/{target}") in own:
            return True
        if entry.sha256 in ("", _NOTHING):
            return not any(each.startswith(f"{path}.") for each in own)
        return self._digest(path) == entry.sha256

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            self._digests[path] = digest_file(f"{self._prefix}/{path}", "sha256").hex()
        return self._digests[path]


@dataclass(frozen=True, kw_only=True)
class _Claimant:
    """A conda package, or a distribution that pip installed, and the files it claims.

    Attributes:
        name: the claimant's name in reports of clashes.
        entries: the claimed files that are relevant to PIL.
        telling: the claimed files that show who installed a distribution (`TELLING`).
        since: when the package's record was written, in nanoseconds since the epoch; 0 for a distribution.
    """

    name: str
    entries: tuple[ClaimedFile, ...]
    telling: tuple[ClaimedFile, ...] = ()
    since: int = 0

    @cached_property
    def own(self) -> frozenset[str]:
        """The paths of `entries`."""
        return frozenset(entry.path for entry in self.entries)


def observe_claims(
    prefix: Path,
    records: CondaRecords,
    replaced: tuple[str, ...],
    site: str,
    distributions: tuple[Distribution, ...],
    *,
    thorough: bool = True,
) -> tuple[tuple[CondaClaim, ...], tuple[CondaClash, ...], dict[str, str]]:
    """Compare the claimed files that are relevant to PIL with the records that claim them.

    Args:
        prefix: the environment.
        records: the packages of the environment.
        replaced: names of packages that provide PIL.
        site: the environment's site-packages, relative to the prefix.
        distributions: the distributions that claim files of PIL, whoever installed them.
        thorough: if True, read every relevant file. Otherwise, a file that only one package claims counts as unaltered
            if its times show no change since the package's record was written.

    Returns:
        1. The claim of each package that has relevant files, sorted by `dist`. 2. The clashes (files that several
        packages claim), sorted by path. 3. The problem of each unreadable record, by the record's file name.
    """
    files = FilesOfPrefix(prefix)
    packages, unreadable = _read_claimants(prefix, records, replaced, site)
    wanted = _group_by_path(packages)
    shared = wanted.keys() if thorough else {path for path, each in wanted.items() if len(each) > 1}
    claims = [_make_claim(package, prefix, files, shared) for package in packages]
    pip = []
    for distribution in distributions:
        metadata = f"{site}/{distribution.metadata}"
        if not any(_is_owner_of_metadata(package, metadata, files) for package in packages):
            name = f"pip: {distribution.name} {distribution.version}"
            pip.append(_Claimant(name=name, entries=_read_recorded_files(prefix / metadata / "RECORD", site)))
    clashes = [
        CondaClash(
            path=path,
            claimants=tuple(claimant.name for claimant, _ in each),
            holder=next((one.name for one, entry in each if files.is_as_recorded(entry, path, one.own)), ""),
        )
        for path, each in sorted(_group_by_path([*packages, *pip]).items())
        if len(each) > 1 and path in wanted
    ]
    return tuple(claims), tuple(clashes), unreadable


def _make_claim(package: _Claimant, prefix: Path, files: FilesOfPrefix, compared: Collection[str]) -> CondaClaim:
    """Return a package's claim: its relevant files, and which of these are missing or altered.

    Args:
        package: the package.
        prefix: the environment.
        files: the environment's files.
        compared: paths to compare even if their times show no change since the record was written.
    """
    missing, altered = [], []
    for entry in package.entries:
        try:
            status = os.lstat(f"{prefix}/{entry.path}")
        except (OSError, ValueError):
            missing.append(entry.path)
            continue
        as_large = stat.S_ISREG(status.st_mode) and not entry.link and entry.size in (None, status.st_size)
        if as_large and entry.wanted not in compared and max(status.st_mtime_ns, status.st_ctime_ns) <= package.since:
            continue
        if not files.is_as_recorded(entry, entry.path, package.own):
            altered.append(entry.path)
    paths = tuple(entry.path for entry in package.entries)
    return CondaClaim(dist=package.name, files=paths, missing=tuple(missing), altered=tuple(altered))


def _read_claimants(
    prefix: Path, records: CondaRecords, replaced: tuple[str, ...], site: str
) -> tuple[list[_Claimant], dict[str, str]]:
    """Return the packages with relevant files, sorted by name; and the problems of unreadable records, by file name."""
    claimants: list[_Claimant] = []
    unreadable: dict[str, str] = {}
    for package in records.packages:
        everything = package.name in replaced
        if not everything and package.dist not in records.claiming:
            continue
        path = prefix / "conda-meta" / package.record
        try:
            record, since = read_all_fields(path), path.stat().st_mtime_ns
        except (UnreadableRecordError, OSError) as error:
            unreadable[package.record] = str(error)
            continue
        found = list_claimed_files(record, site, everything=everything)
        entries = tuple(entry for entry in found if everything or matters(entry.path))
        telling = tuple(entry for entry in found if entry.path.endswith(TELLING))
        if entries:
            claimants.append(_Claimant(name=package.dist, entries=entries, telling=telling, since=since))
    return sorted(claimants, key=attrgetter("name")), unreadable


def _group_by_path(claimants: Iterable[_Claimant]) -> dict[str, list[tuple[_Claimant, ClaimedFile]]]:
    """Return the pairs (claimant, entry) of each claimed path, in the order of `claimants`."""
    found: dict[str, list[tuple[_Claimant, ClaimedFile]]] = {}
    for claimant in claimants:
        for entry in claimant.entries:
            found.setdefault(entry.wanted, []).append((claimant, entry))
    return found


def _is_owner_of_metadata(package: _Claimant, metadata: str, files: FilesOfPrefix) -> bool:
    """Return whether a conda package installed a metadata directory.

    It did if it claims `TELLING` files in this directory, and all of these match its record.
    """
    telling = [entry for entry in package.telling if entry.path.startswith(f"{metadata}/")]
    return bool(telling) and all(files.is_as_recorded(entry, entry.path, package.own) for entry in telling)


def _read_recorded_files(record: Path, site_packages: str) -> tuple[ClaimedFile, ...]:
    """List the files in a RECORD, without bytecode, with paths relative to the prefix; empty if it cannot be read."""
    found = []
    for path, digest, size in read_rows(foreign.bytes_or_empty(record)):
        place = os.path.normpath(f"{site_packages}/{path}")
        length = int(size) if size.isdecimal() else None
        found.append(ClaimedFile(path=place, wanted=place, size=length, sha256=decode_digest(digest)))
    return tuple(found)
