"""Who claims the files of a conda environment that matter to PIL, and whose content those have that several claim."""

from collections.abc import Iterable
from pathlib import Path

from fastinstall.model.conda import CondaClaim, CondaClash, CondaPackage
from fastinstall.model.facts import Distribution
from fastinstall.model.immutable import immutable
from fastinstall.probes.conda_contents import Contents, State
from fastinstall.probes.conda_entries import Entry, claimed_entries
from fastinstall.probes.conda_glance import UnreadableRecordError, read_whole
from fastinstall.probes.conda_matters import matters
from fastinstall.probes.conda_pip import recorded_entries
from fastinstall.probes.conda_records import Records

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


@immutable
class _Claimant:
    """A package, or a distribution of pip's, and what it claims.

    Attributes:
        name: as clashes name it.
        entries: its files, as far as they matter.
        own: where they are.
        telling: files that tell who installed a distribution, if the package has one.
        since: when its record was written, in nanoseconds since the epoch.
    """

    name: str
    entries: tuple[Entry, ...]
    own: frozenset[str]
    telling: tuple[Entry, ...] = ()
    since: int = 0


def observe_claims(  # noqa: PLR0913 (see `observe_conda`)
    prefix: Path,
    records: Records,
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
    contents = Contents(prefix=str(prefix))
    packages, unreadable = _packages(prefix, records, replaced, site)
    contested = frozenset(path for path, claimants in _wanted(packages).items() if len(claimants) > 1)
    foreign = [
        _distribution(prefix, site, distribution)
        for distribution in distributions
        if not any(_owns(package, f"{site}/{distribution.metadata}", contents) for package in packages)
    ]
    return Claims(
        claims=tuple(_claim(package, contents, contested, thorough=thorough) for package in packages),
        clashes=_clashes(packages, foreign, contents),
        unreadable=unreadable,
    )


def _packages(
    prefix: Path, records: Records, replaced: tuple[str, ...], site: str
) -> tuple[list[_Claimant], dict[str, str]]:
    claimants: list[_Claimant] = []
    unreadable: dict[str, str] = {}
    for package in records.packages:
        if package.name not in replaced and package.dist not in records.claiming:
            continue
        try:
            claimant = _package(prefix / "conda-meta", package, site, everything=package.name in replaced)
        except (UnreadableRecordError, OSError) as error:
            unreadable[package.record] = str(error)
        else:
            claimants.extend([claimant] if claimant.entries else ())
    return sorted(claimants, key=lambda claimant: claimant.name), unreadable


def _package(conda_meta: Path, package: CondaPackage, site: str, *, everything: bool) -> _Claimant:
    def counts(path: str) -> bool:
        return everything or matters(path)

    path = conda_meta / package.record
    found = claimed_entries(read_whole(path), site, lambda path: counts(path) or path.endswith(_TELLING))
    entries = tuple(entry for entry in found if counts(entry.path))
    return _Claimant(
        name=package.dist,
        entries=entries,
        own=frozenset(entry.path for entry in entries),
        telling=tuple(entry for entry in found if entry.path.endswith(_TELLING)),
        since=path.stat().st_mtime_ns,
    )


def _wanted(claimants: Iterable[_Claimant]) -> dict[str, list[tuple[_Claimant, Entry]]]:
    """Who wants a file to be where: the claimants of each path, in order."""
    found: dict[str, list[tuple[_Claimant, Entry]]] = {}
    for claimant in claimants:
        for entry in claimant.entries:
            found.setdefault(entry.wanted, []).append((claimant, entry))
    return found


def _claim(package: _Claimant, contents: Contents, contested: frozenset[str], *, thorough: bool) -> CondaClaim:
    def state(entry: Entry) -> State:
        since = None if thorough or entry.wanted in contested else package.since
        return contents.state(entry, package.own, since=since)

    states = [(entry.path, state(entry)) for entry in package.entries]
    return CondaClaim(
        dist=package.name,
        files=tuple(path for path, _ in states),
        missing=tuple(path for path, found in states if found is State.MISSING),
        altered=tuple(path for path, found in states if found is State.ALTERED),
    )


def _owns(package: _Claimant, metadata: str, contents: Contents) -> bool:
    """Whether a distribution's metadata is a package's own: claimed by it, and nobody else's by now."""
    telling = [entry for entry in package.telling if entry.path.startswith(f"{metadata}/")]
    states = {contents.state(entry, package.own) for entry in telling}
    return states == {State.UNCHANGED}


def _distribution(prefix: Path, site: str, distribution: Distribution) -> _Claimant:
    entries = recorded_entries(prefix / site / distribution.metadata / "RECORD", site)
    return _Claimant(
        name=f"pip: {distribution.name} {distribution.version}",
        entries=entries,
        own=frozenset(entry.path for entry in entries),
    )


def _clashes(packages: list[_Claimant], foreign: list[_Claimant], contents: Contents) -> tuple[CondaClash, ...]:
    """Files that several packages claim, or a package and a distribution of pip's."""
    condas = _wanted(packages)
    found = ((path, each) for path, each in _wanted([*packages, *foreign]).items() if len(each) > 1 and path in condas)
    return tuple(
        CondaClash(
            path=path,
            claimants=tuple(claimant.name for claimant, _ in each),
            holder=next((claimant.name for claimant, entry in each if contents.has(entry, claimant.own)), ""),
        )
        for path, each in sorted(found)
    )
