"""Who claims the files of a conda environment that matter to PIL, and whose content a file claimed twice has.

Claims come from the records of conda packages and from the RECORD of pip's distributions, in one form. Files are
compared with what a package left by size, by hash, and by where symbolic links lead.

Source of the RECORD format: PyPA "Recording installed projects".
"""

import base64
import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaClaim, CondaClash, CondaPackage
from fastinstall.model.facts import Distribution
from fastinstall.observe.conda.records import CondaRecords, Fields, UnreadableRecordError, matters, read_whole
from fastinstall.observe.stack import digest_file, read_rows

_BYTECODE = (".pyc", ".pyo")
_PLACES = {"site-packages/": "", "python-scripts/": "bin/"}  # where a noarch package means files to be put


@immutable
class ClaimedFile:
    """A file as a package claims it.

    Attributes:
        path: where it is, relative to the prefix.
        wanted: where the package wants it; differs where py-rattler has put it aside for another package's.
        size: in bytes; None if unknown, or if the prefix was written into it.
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


def list_claimed_files(record: Fields, site: str, wanted: Callable[[str], bool]) -> tuple[ClaimedFile, ...]:
    """What a record claims, bytecode and directories aside; whatever in it is malformed is passed over.

    Args:
        record: all its fields.
        site: the site-packages of the environment, relative to the prefix; records of noarch packages do not tell.
        wanted: which files are asked for, by their paths.
    """
    paths = record.get("paths_data")
    described = paths.get("paths") if isinstance(paths, dict) else None
    entries: dict[str, ClaimedFile] = {}
    for each in described if isinstance(described, list) else ():
        path = each.get("_path") if isinstance(each, dict) else None
        if isinstance(path, str) and wanted(placed := _resolve_noarch_path(path, site)):
            entries[placed] = _make_claimed_file(each, placed)
    listed = record.get("files")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else list(entries)
    claimed = (name for name in dict.fromkeys(names) if wanted(name) and not name.endswith(_BYTECODE))
    return tuple(entries.get(name) or ClaimedFile(path=name, wanted=name) for name in claimed)


def _resolve_noarch_path(path: str, site: str) -> str:
    """Where a file of a noarch package is: conda records where the package meant it to be."""
    for place, target in _PLACES.items():
        if path.startswith(place):
            return f"{target or site + '/'}{path.removeprefix(place)}"
    return path


def _make_claimed_file(each: dict[str, Any], path: str) -> ClaimedFile:
    link = each.get("path_type") == "softlink"
    size, sha256, in_prefix = each.get("size_in_bytes"), _digest(each, "sha256"), _digest(each, "sha256_in_prefix")
    rewritten = "prefix_placeholder" in each or in_prefix not in ("", sha256)
    original = each.get("original_path")
    return ClaimedFile(
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


_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of no bytes: of a link to nowhere


class FileState(StrEnum):
    """What became of a file."""

    UNCHANGED = "unchanged"
    MISSING = "missing"
    ALTERED = "altered"


@immutable
class EnvironmentFiles:
    """The files of an environment; each is read once, however many packages claim it.

    Attributes:
        prefix: of the environment.
        digests: what was read.
    """

    prefix: str
    digests: dict[str, str] = field(default_factory=dict)

    def state(self, entry: ClaimedFile, own: frozenset[str], *, since: int | None = None) -> FileState:
        """What became of a file that a package claims.

        Args:
            entry: the file.
            own: all files that the package claims.
            since: where given, a file of the recorded size that has not changed since, by its times of modification
                and of change of status, in nanoseconds since the epoch, counts as unchanged.
        """
        try:
            status = os.lstat(f"{self.prefix}/{entry.path}")
        except (OSError, ValueError):
            return FileState.MISSING
        if since is not None and stat.S_ISREG(status.st_mode) and not entry.link:
            as_large = entry.size in (None, status.st_size)
            if as_large and max(status.st_mtime_ns, status.st_ctime_ns) <= since:
                return FileState.UNCHANGED
        return FileState.UNCHANGED if self._is_as_recorded(entry, entry.path, own) else FileState.ALTERED

    def has(self, entry: ClaimedFile, own: frozenset[str]) -> bool:
        """Whether what lies where a package wants its file is that file."""
        return self._is_as_recorded(entry, entry.wanted, own)

    def _is_as_recorded(self, entry: ClaimedFile, path: str, own: frozenset[str]) -> bool:
        """Compare a file, wherever it lies, with what is recorded of it; one that cannot be read is not."""
        place = f"{self.prefix}/{path}"
        try:
            if entry.link and os.path.islink(place):  # noqa: PTH114 (a hundred paths are not worth as many objects)
                return self._is_own_link(entry, path, own)
            status = os.stat(place)  # noqa: PTH116 (likewise)
            if not stat.S_ISREG(status.st_mode) or entry.size not in (None, status.st_size):
                return False
            return self._digest(path) == entry.sha256 if entry.sha256 else not entry.link
        except (OSError, ValueError):
            return False

    def _is_own_link(self, entry: ClaimedFile, path: str, own: frozenset[str]) -> bool:
        """Whether a symbolic link is the package's: by its text, by where it leads, by what is found there."""
        target = os.readlink(f"{self.prefix}/{path}")  # noqa: PTH115 (likewise)
        if entry.link_sha256:
            return hashlib.sha256(os.fsencode(target)).hexdigest() == entry.link_sha256
        if os.path.normpath(f"./{path.rpartition('/')[0]}/{target}") in own:
            return True
        if entry.sha256 in ("", _NOTHING):
            return not any(each.startswith(f"{path}.") for each in own)
        return self._digest(path) == entry.sha256

    def _digest(self, path: str) -> str:
        if path not in self.digests:
            self.digests[path] = digest_file(f"{self.prefix}/{path}", "sha256").hex()
        return self.digests[path]


_TELLING = (".dist-info/INSTALLER", ".dist-info/RECORD", ".dist-info/METADATA")


@immutable
class Claims:
    """What `observe_claims` finds.

    Attributes:
        claims: of each package, sorted by `dist`.
        clashes: files that several claim, sorted by path.
        unreadable: records whose paths cannot be read: file name to what is wrong.
    """

    claims: tuple[CondaClaim, ...]
    clashes: tuple[CondaClash, ...]
    unreadable: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class _Claimant:
    """A package, or a distribution of pip's, and what it claims.

    Attributes:
        name: as clashes name it.
        entries: its files, as far as they matter.
        telling: files that tell who installed a distribution, if the package has one.
        since: when its record was written, in nanoseconds since the epoch.
    """

    name: str
    entries: tuple[ClaimedFile, ...]
    telling: tuple[ClaimedFile, ...] = ()
    since: int = 0

    @cached_property
    def own(self) -> frozenset[str]:
        """Where its files are."""
        return frozenset(entry.path for entry in self.entries)


def observe_claims(  # noqa: PLR0913 (see `observe_conda`)
    prefix: Path,
    records: CondaRecords,
    replaced: tuple[str, ...],
    site: str,
    distributions: tuple[Distribution, ...],
    *,
    thorough: bool = True,
) -> Claims:
    """Look at every claimed file that matters.

    Args:
        prefix: the environment.
        records: its packages.
        replaced: names of packages that provide PIL.
        site: the site-packages of its Python, relative to the prefix.
        distributions: those that claim files of PIL, whoever installed them.
        thorough: read every file. Else a file that one package alone claims and that has not changed since its record
            was written counts as it was recorded.
    """
    contents = EnvironmentFiles(prefix=str(prefix))
    packages, unreadable = _read_claimants(prefix, records, replaced, site)
    wanted = _group_by_path(packages)
    pip = []
    for distribution in distributions:
        metadata = f"{site}/{distribution.metadata}"
        if not any(_is_owner_of_metadata(package, metadata, contents) for package in packages):
            name = f"pip: {distribution.name} {distribution.version}"
            pip.append(_Claimant(name=name, entries=read_recorded_files(prefix / metadata / "RECORD", site)))
    claims = []
    for package in packages:
        states: dict[FileState, list[str]] = {state: [] for state in FileState}
        for entry in package.entries:
            since = None if thorough or len(wanted[entry.wanted]) > 1 else package.since
            states[contents.state(entry, package.own, since=since)].append(entry.path)
        claims.append(
            CondaClaim(
                dist=package.name,
                files=tuple(entry.path for entry in package.entries),
                missing=tuple(states[FileState.MISSING]),
                altered=tuple(states[FileState.ALTERED]),
            )
        )
    clashes = tuple(
        CondaClash(
            path=path,
            claimants=tuple(claimant.name for claimant, _ in each),
            holder=next((claimant.name for claimant, entry in each if contents.has(entry, claimant.own)), ""),
        )
        for path, each in sorted(_group_by_path([*packages, *pip]).items())
        if len(each) > 1 and path in wanted
    )
    return Claims(claims=tuple(claims), clashes=clashes, unreadable=unreadable)


def _read_claimants(
    prefix: Path, records: CondaRecords, replaced: tuple[str, ...], site: str
) -> tuple[list[_Claimant], dict[str, str]]:
    claimants: list[_Claimant] = []
    unreadable: dict[str, str] = {}
    for package in records.packages:
        replaces = package.name in replaced
        if replaces or package.dist in records.claiming:
            try:
                claimants.append(_read_claimant(prefix / "conda-meta", package, site, everything=replaces))
            except (UnreadableRecordError, OSError) as error:
                unreadable[package.record] = str(error)
    return sorted((each for each in claimants if each.entries), key=lambda claimant: claimant.name), unreadable


def _read_claimant(conda_meta: Path, package: CondaPackage, site: str, *, everything: bool) -> _Claimant:
    def counts(path: str) -> bool:
        return everything or matters(path)

    path = conda_meta / package.record
    found = list_claimed_files(read_whole(path), site, lambda path: counts(path) or path.endswith(_TELLING))
    return _Claimant(
        name=package.dist,
        entries=tuple(entry for entry in found if counts(entry.path)),
        telling=tuple(entry for entry in found if entry.path.endswith(_TELLING)),
        since=path.stat().st_mtime_ns,
    )


def _group_by_path(claimants: Iterable[_Claimant]) -> dict[str, list[tuple[_Claimant, ClaimedFile]]]:
    """Who wants a file to be where: the claimants of each path, in order."""
    found: dict[str, list[tuple[_Claimant, ClaimedFile]]] = {}
    for claimant in claimants:
        for entry in claimant.entries:
            found.setdefault(entry.wanted, []).append((claimant, entry))
    return found


def _is_owner_of_metadata(package: _Claimant, metadata: str, contents: EnvironmentFiles) -> bool:
    """Whether a distribution's metadata is a package's own: claimed by it, and nobody else's by now."""
    telling = [entry for entry in package.telling if entry.path.startswith(f"{metadata}/")]
    states = {contents.state(entry, package.own) for entry in telling}
    return states == {FileState.UNCHANGED}


def read_recorded_files(record: Path, site_packages: str) -> tuple[ClaimedFile, ...]:
    """List a RECORD's files without bytecode; empty if it cannot be read.

    Args:
        record: the file.
        site_packages: relative to the prefix, which what is returned is relative to.
    """
    return tuple(
        ClaimedFile(
            path=place,
            wanted=place,
            size=int(size) if size.isdecimal() else None,
            sha256=_convert_digest(digest),
        )
        for path, digest, size in read_rows(foreign.bytes_or_empty(record))
        for place in (os.path.normpath(f"{site_packages}/{path}"),)
    )


def _convert_digest(digest: str) -> str:
    """A digest of RECORD ("sha256=..." in base64 without padding) as conda writes it; empty if it is another's."""
    algorithm, _, encoded = digest.partition("=")
    try:
        return base64.urlsafe_b64decode(f"{encoded}=").hex() if algorithm == "sha256" else ""
    except ValueError:
        return ""
